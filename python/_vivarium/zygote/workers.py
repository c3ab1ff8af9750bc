"""Forks workers ahead of their sessions: straight into an enclosure, or under a guard where there are no namespaces."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable

from _vivarium.confine import identity, kernel
from _vivarium.enclosure.subreaper import serve_as_subreaper
from _vivarium.record import Record
from _vivarium.wire import GO
from _vivarium.worker.join import EXIT_NOT_JOINED, Admission, WorkerSettings, prepare, report_failure


class ForkedWorker(Record):
    """What the forked child returns with, up the zygote's stack, instead of the loop's end."""

    channel: int
    go: int
    settings: WorkerSettings


class WaitingWorker(Record):
    """A worker that waits for its session, seen from the zygote. Numbers, not objects: a later fork must not close them."""

    pid: int
    go: int
    channel: int

    def release(self) -> None:
        """Its limits are attached: let it run what its session brings."""
        try:
            os.write(self.go, GO)
        finally:
            os.close(self.go)

    def admit(self, admission: Admission, fds: list[int]) -> None:
        """Give it its session and the session's channels; OSError when it is gone."""
        channel = socket.socket(fileno=self.channel)
        try:
            socket.send_fds(channel, [json.dumps(vars(admission)).encode()], fds)
        finally:
            channel.detach()

    def failure_text(self) -> str | None:
        """What a worker said that failed before its walls were closed; afterwards there is nothing to ask it any more."""
        os.set_blocking(self.channel, False)
        try:
            text = os.read(self.channel, 4096).decode("utf-8", "replace")
        except OSError:  # a guard holds the other end, or it was closed unread
            text = ""
        os.close(self.channel)
        return text or None


def fork_into(
    settings: WorkerSettings, own_pid_namespace: int, disown: Callable[[], None]
) -> WaitingWorker | ForkedWorker:
    """Fork once, straight into the pid namespace of an enclosure; `disown` is for the child."""
    go_read, go_write, ours, theirs = ends = _open_ends()
    try:
        kernel.setns(settings.namespaces[0])
        pid = os.fork()
    except OSError:  # its pid 1 is gone, or the machine is full
        kernel.setns(own_pid_namespace)
        for fd in ends:
            os.close(fd)
        raise
    if pid == 0:
        disown()
        return _prepare_child(settings, go_read, theirs)
    kernel.setns(own_pid_namespace)
    os.close(go_read)
    os.close(theirs)
    return WaitingWorker(pid, go_write, ours)


def fork_with_subreaper(
    lifeline: socket.socket, settings: WorkerSettings, disown: Callable[[], None]
) -> WaitingWorker | ForkedWorker:
    """Fork a guard, which forks the worker: what the session orphans comes back to the guard."""
    go_read, go_write, ours, theirs = _open_ends()
    pid = os.fork()
    if pid == 0:
        disown()
        return _fork_below_subreaper(lifeline, settings, go_read, theirs)
    os.close(go_read)
    os.close(theirs)
    return WaitingWorker(pid, go_write, ours)


def _open_ends() -> tuple[int, int, int, int]:
    """Both ends of the pipe for the go, and of the channel for the admission."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return (*os.pipe(), ours.detach(), theirs.detach())


def _fork_below_subreaper(lifeline: socket.socket, settings: WorkerSettings, go: int, channel: int) -> ForkedWorker:
    try:
        signal.set_wakeup_fd(-1)
        kernel.become_subreaper()
        worker_go, permit = os.pipe()
        os.write(permit, os.read(go, 1))  # the zygote attaches limits to the guard; the worker inherits them
        os.close(permit)
        worker = os.fork()
        if worker == 0:
            return _prepare_child(settings, worker_go, channel)
        if settings.privileged:
            identity.become(settings.uid, settings.uid)
        serve_as_subreaper(lifeline, worker)
    except BaseException as error:  # noqa: BLE001
        report_failure(channel, error)
    os._exit(EXIT_NOT_JOINED)


def _prepare_child(settings: WorkerSettings, go: int, channel: int) -> ForkedWorker:
    """In the child: all that can be done before there is a session."""
    try:
        channel, go = prepare(settings, go, channel)
    except BaseException as error:  # noqa: BLE001 - whatever it was, nothing may run after it
        report_failure(channel, error)
    return ForkedWorker(channel, go, settings.replaced(namespaces=()))
