"""Forks workers ahead of their sessions: into an enclosure, or below a subreaper where there are no namespaces."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable, Iterable

from _vivarium.confine import identity, kernel
from _vivarium.confine.landlock import entries
from _vivarium.enclosure.host_socket import connect_worker
from _vivarium.enclosure.lifeline import Ticket, encode
from _vivarium.enclosure.subreaper import serve_as_subreaper
from _vivarium.protocol import GO
from _vivarium.record import Record
from _vivarium.worker.join import EXIT_NOT_JOINED, Admission, WorkerSettings, prepare, report_failure


class ForkedWorker(Record):
    """What the loop returns in a forked child, which unwinds the zygote's stack."""

    channel: int
    go: int
    settings: WorkerSettings


class WaitingWorker(Record):
    """A worker that waits for its session. Descriptors are numbers: objects would close them in a later fork."""

    pid: int
    go: int
    channel: int

    def release(self) -> None:
        """Let it go on, now that its limits are attached."""
        try:
            os.write(self.go, GO)
        finally:
            os.close(self.go)

    def admit(self, admission: Admission, fds: Iterable[int]) -> None:
        """Give it its session and the channels. Raises OSError when it is gone."""
        channel = socket.socket(fileno=self.channel)
        try:
            socket.send_fds(channel, [json.dumps(vars(admission)).encode()], [*fds])
        finally:
            channel.detach()

    def failure_text(self) -> str | None:
        """Return what a worker wrote that failed before its walls were closed. Closes the channel."""
        os.set_blocking(self.channel, False)
        try:
            text = os.read(self.channel, 4096).decode("utf-8", "replace")
        except OSError:  # a subreaper holds the other end, or it was closed unread
            text = ""
        os.close(self.channel)
        return text or None


def fork_into(
    settings: WorkerSettings, own_pid_namespace: int, disown: Callable[[], None]
) -> WaitingWorker | ForkedWorker:
    """Fork once, directly into the pid namespace of an enclosure. The child calls `disown`."""
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
        return _prepare_child(settings, go_read, theirs, disown)
    kernel.setns(own_pid_namespace)
    os.close(go_read)
    os.close(theirs)
    return WaitingWorker(pid, go_write, ours)


def fork_with_subreaper(
    lifeline: socket.socket,
    settings: WorkerSettings,
    admission: Admission,
    host_socket: str,
    guard_uid: int,
    disown: Callable[[], None],
) -> WaitingWorker | ForkedWorker:
    """Fork a subreaper, which connects the worker to the host, forks it, and adopts what the session orphans."""
    go_read, go_write, ours, theirs = ends = _open_ends()
    try:
        pid = os.fork()
    except OSError:  # the machine is full
        for fd in ends:
            os.close(fd)
        raise
    if pid == 0:

        def introduce() -> None:
            ticket, channels = connect_worker(host_socket)
            WaitingWorker(0, -1, ours).admit(admission, channels)
            lifeline.send(encode(Ticket(ticket)))

        return _fork_below_subreaper(lifeline, settings, (go_read, theirs), guard_uid, disown, introduce)
    os.close(go_read)
    os.close(theirs)
    return WaitingWorker(pid, go_write, ours)


def _open_ends() -> tuple[int, int, int, int]:
    """Return both ends of the pipe for the go, and of the channel for the admission."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return (*os.pipe(), ours.detach(), theirs.detach())


def _fork_below_subreaper(
    lifeline: socket.socket,
    settings: WorkerSettings,
    ends: tuple[int, int],
    guard_uid: int,
    disown: Callable[[], None],
    introduce: Callable[[], None],
) -> ForkedWorker:
    go, channel = ends
    try:
        disown()
        signal.set_wakeup_fd(-1)
        kernel.become_subreaper()
        worker_go, permit = os.pipe()
        go_ahead = os.read(go, 1)  # the zygote attaches limits to the subreaper, and the worker inherits them
        introduce()
        worker = os.fork()
        if worker == 0:
            return _prepare_child(settings, worker_go, channel, lambda: None)
        pins = entries.pin(worker) if settings.level == "landlock" else []  # before there are rules about them
        os.write(permit, go_ahead)
        if settings.privileged:
            identity.watch_over(settings.uid, guard_uid)
        serve_as_subreaper(lifeline, worker, pins)
    except BaseException as error:
        report_failure(channel, error)
    os._exit(EXIT_NOT_JOINED)


def _prepare_child(settings: WorkerSettings, go: int, channel: int, disown: Callable[[], None]) -> ForkedWorker:
    """In the child: do all that needs no session. An error must never lead back into the zygote's loop."""
    try:
        disown()
        channel, go = prepare(settings, go, channel)
    except BaseException as error:
        report_failure(channel, error)
    return ForkedWorker(channel, go, settings.replaced(namespaces=()))
