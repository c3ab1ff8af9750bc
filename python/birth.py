"""Forks workers: straight into an enclosure, or under a guard where there are no namespaces."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace

from confine import identity, kernel
from guard import stand_guard
from join import GO, Admission, join

EXIT_NOT_JOINED = 113
ZYGOTE_CONTROL = 3  # not for its children


@dataclass(frozen=True)
class Born:
    """What the forked child returns with, up the zygote's stack, instead of the loop's end."""

    control: int
    admission: Admission


@dataclass(frozen=True)
class Labour:
    """A fork that waits for its go, seen from the zygote."""

    pid: int
    go: int
    status: int

    def let_go(self) -> None:
        """Let the child close its walls and run."""
        os.write(self.go, GO)
        os.close(self.go)


def fork_into(
    namespaces: tuple[int, ...], own_pid_namespace: int, admission: Admission, disown: Callable[[], None]
) -> Labour | Born:
    """Fork once, straight into the pid namespace of an enclosure; `disown` is for the child."""
    go_read, go_write, status_read, status_write = pipes = (*os.pipe(), *os.pipe())
    try:
        kernel.setns(namespaces[0])
        pid = os.fork()
    except OSError:  # its pid 1 is gone, or the machine is full
        kernel.setns(own_pid_namespace)
        for fd in pipes:
            os.close(fd)
        raise
    if pid == 0:
        disown()
        return _be_born(admission, go_read, status_write)
    kernel.setns(own_pid_namespace)
    os.close(go_read)
    os.close(status_write)
    return Labour(pid, go_write, status_read)


def fork_guarded(lifeline: socket.socket, admission: Admission, disown: Callable[[], None]) -> Labour | Born:
    """Fork a guard, which forks the worker: what the session orphans comes back to the guard."""
    go_read, go_write, status_read, status_write = (*os.pipe(), *os.pipe())
    pid = os.fork()
    if pid == 0:
        disown()
        return _guard_a_birth(lifeline, admission, go_read, status_write)
    os.close(go_read)
    os.close(status_write)
    return Labour(pid, go_write, status_read)


def _guard_a_birth(lifeline: socket.socket, admission: Admission, go: int, status: int) -> Born:
    try:
        signal.set_wakeup_fd(-1)
        kernel.become_subreaper()
        worker_go, permit = os.pipe()
        os.write(permit, os.read(go, 1))  # the zygote attaches limits to the guard; the worker inherits them
        os.close(permit)
        worker = os.fork()
        if worker == 0:
            return _be_born(admission, worker_go, status)
        if admission.privileged:
            identity.become(admission.uid, admission.uid)
        stand_guard(lifeline, worker)
    except BaseException as error:  # noqa: BLE001
        os.write(status, f"{type(error).__name__}: {error}".encode()[:4096])
    os._exit(EXIT_NOT_JOINED)


def _be_born(admission: Admission, go: int, status: int) -> Born:
    """In the child: close the walls or die saying why."""
    os.dup2(status, ZYGOTE_CONTROL, inheritable=False)  # a low number, out of the way of those that the worker's own get
    os.close(status)
    status = ZYGOTE_CONTROL
    try:
        control = join(admission, go, status)
        os.close(status)
        return Born(control, replace(admission, token="", namespaces=()))
    except BaseException as error:  # noqa: BLE001 - whatever it was, nothing may run after it
        os.write(status, f"{type(error).__name__}: {error}".encode()[:4096])
        os._exit(EXIT_NOT_JOINED)
