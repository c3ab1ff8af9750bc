"""Forks workers ahead of their sessions: straight into an enclosure, or under a guard where there are no namespaces."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable

from confine import identity, kernel
from guard import stand_guard
from join import GO, Admission, Birthplace, prepare
from record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn  # which is slow to load

EXIT_NOT_JOINED = 113


class Born(Record):
    """What the forked child returns with, up the zygote's stack, instead of the loop's end."""

    channel: int
    go: int
    birthplace: Birthplace


class Unborn(Record):
    """A worker that waits for its session, seen from the zygote. Numbers, not objects: a later fork must not close them."""

    pid: int
    go: int
    channel: int

    def let_go(self) -> None:
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

    def last_words(self) -> str | None:
        """What a worker said that failed before its walls were closed; afterwards there is nothing to ask it any more."""
        os.set_blocking(self.channel, False)
        try:
            text = os.read(self.channel, 4096).decode("utf-8", "replace")
        except OSError:  # a guard holds the other end, or it was closed unread
            text = ""
        os.close(self.channel)
        return text or None


def say_why(channel: int, error: BaseException) -> NoReturn:
    """In a worker that cannot be one: tell the zygote, and end."""
    try:
        os.write(channel, f"{type(error).__name__}: {error}".encode()[:4096])
    finally:
        os._exit(EXIT_NOT_JOINED)


def fork_into(birthplace: Birthplace, own_pid_namespace: int, disown: Callable[[], None]) -> Unborn | Born:
    """Fork once, straight into the pid namespace of an enclosure; `disown` is for the child."""
    go_read, go_write, ours, theirs = ends = _open_ends()
    try:
        kernel.setns(birthplace.namespaces[0])
        pid = os.fork()
    except OSError:  # its pid 1 is gone, or the machine is full
        kernel.setns(own_pid_namespace)
        for fd in ends:
            os.close(fd)
        raise
    if pid == 0:
        disown()
        return _be_born(birthplace, go_read, theirs)
    kernel.setns(own_pid_namespace)
    os.close(go_read)
    os.close(theirs)
    return Unborn(pid, go_write, ours)


def fork_guarded(lifeline: socket.socket, birthplace: Birthplace, disown: Callable[[], None]) -> Unborn | Born:
    """Fork a guard, which forks the worker: what the session orphans comes back to the guard."""
    go_read, go_write, ours, theirs = _open_ends()
    pid = os.fork()
    if pid == 0:
        disown()
        return _guard_a_birth(lifeline, birthplace, go_read, theirs)
    os.close(go_read)
    os.close(theirs)
    return Unborn(pid, go_write, ours)


def _open_ends() -> tuple[int, int, int, int]:
    """Both ends of the pipe for the go, and of the channel for the admission."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return (*os.pipe(), ours.detach(), theirs.detach())


def _guard_a_birth(lifeline: socket.socket, birthplace: Birthplace, go: int, channel: int) -> Born:
    try:
        signal.set_wakeup_fd(-1)
        kernel.become_subreaper()
        worker_go, permit = os.pipe()
        os.write(permit, os.read(go, 1))  # the zygote attaches limits to the guard; the worker inherits them
        os.close(permit)
        worker = os.fork()
        if worker == 0:
            return _be_born(birthplace, worker_go, channel)
        if birthplace.privileged:
            identity.become(birthplace.uid, birthplace.uid)
        stand_guard(lifeline, worker)
    except BaseException as error:  # noqa: BLE001
        say_why(channel, error)
    os._exit(EXIT_NOT_JOINED)


def _be_born(birthplace: Birthplace, go: int, channel: int) -> Born:
    """In the child: all that can be done before there is a session."""
    try:
        channel, go = prepare(birthplace, go, channel)
    except BaseException as error:  # noqa: BLE001 - whatever it was, nothing may run after it
        say_why(channel, error)
    return Born(channel, go, birthplace.replaced(namespaces=()))
