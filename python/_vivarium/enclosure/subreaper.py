"""Stands in for pid 1 where a session has no pid namespace: the weaker levels `landlock` and `none`."""

from __future__ import annotations

import os
import signal
import socket

from _vivarium.confine import kernel
from _vivarium.enclosure.pid1 import Pid1


class Subreaper(Pid1):
    """Adopts what the session orphans, so everything that it started can be ended."""

    def __init__(self, lifeline: socket.socket, worker: int) -> None:
        super().__init__(lifeline, pid_max=0, last_pid=None)
        self._worker = worker

    def _processes(self, newest: int) -> list[int]:
        """All descendants: orphans among them are our children, since we are their subreaper."""
        return descendants(os.getpid())

    def _newest_pid(self) -> int:
        return self._pid_max  # pids of the machine say nothing about the session

    def _leave(self) -> None:
        self._sweep(set())
        os._exit(0)


def descendants(root: int) -> list[int]:
    """Every process below `root`, from /proc."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", errors="replace") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue  # ended while we looked
        children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    pending = list(children.get(root, []))
    while pending:
        pid = pending.pop()
        found.append(pid)
        pending += children.get(pid, [])
    return found


def end_orphans(known: set[int]) -> None:
    """End children of ours that nobody knows: they belonged to a subreaper that was killed."""
    with open("/proc/thread-self/children") as file:
        children = [int(pid) for pid in file.read().split()]
    for pid in children:
        if pid not in known:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue  # ended by itself


def serve_as_subreaper(lifeline: socket.socket, worker: int) -> None:
    """Become the subreaper of a worker that this process has forked. Never returns."""
    kernel.close_fds_except([lifeline.fileno()])
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    Subreaper(lifeline, worker).serve()
