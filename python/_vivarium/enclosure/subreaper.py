"""Stands in for pid 1 where a session has no pid namespace: the weaker levels `landlock` and `none`.

Numbers of processes are those of the machine here, and some of them come from the session. So nothing is signalled
before it is certain that the process descends from us.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
from collections.abc import Iterable, Iterator

from _vivarium.confine import kernel
from _vivarium.enclosure.family import descendants, parent_of
from _vivarium.enclosure.lifeline import Message
from _vivarium.enclosure.pid1 import Foreign, Pid1

# A parent may end between two looks, which a program can make happen often, but not for ever.
WALKS = 20
QUICK_LOOKS = 50
# Whatever is left after that becomes a child of the zygote, which ends it.
SWEEPS = 3


class Subreaper(Pid1):
    """Adopts what the session orphans, so everything that it started can be ended."""

    def __init__(self, lifeline: socket.socket, worker: int) -> None:
        super().__init__(lifeline, pid_max=0, last_pid=None)
        self._worker = worker
        self._is_leaving = False

    def _processes(self, newest: int) -> Iterator[int]:
        """All descendants: orphans among them are our children, since we are their subreaper.

        A program that forks itself and ends, again and again, is gone before a list of all processes is made. It is our
        child each time, and those are found a hundred times as fast.
        """
        seen: set[int] = set()
        for _ in range(QUICK_LOOKS):
            fresh = [pid for pid in children() if pid not in seen]
            seen.update(fresh)
            yield from fresh
        yield from (pid for pid in descendants(os.getpid()) if pid not in seen)

    def _send(self, pid: int, number: int) -> None:
        fd = os.pidfd_open(pid)
        try:
            _require_descendant(pid, fd)
            signal.pidfd_send_signal(fd, number)
        finally:
            os.close(fd)

    def _kill(self, pid: int) -> bool:
        try:
            self._send(pid, signal.SIGKILL)
        except (Foreign, ProcessLookupError):  # it has ended, and its number may belong to somebody else now
            return False
        except OSError as error:
            # A number that is not that of a process. Otherwise nothing is certain, so it counts as one that is left.
            return error.errno not in (errno.EINVAL, errno.ENOENT)
        return True

    def _is_quiet(self, newest: int, known: set[int]) -> bool:
        """Whether a second look finds nothing new: what was forked during the first one is known to nobody yet."""
        return all(pid in known for pid in self._processes(newest))

    def _newest_pid(self) -> int:
        return self._pid_max  # pids of the machine say nothing about the session

    def _leave(self, status: int) -> None:
        """End with everything that the session has started, however it came to that."""
        self._is_leaving = True
        try:
            for _ in range(SWEEPS):
                if self._sweep(set()) is None:
                    break
        finally:
            os._exit(status)

    def _report(self, message: Message) -> None:
        if not self._is_leaving:  # else nobody listens any more
            super()._report(message)


def children() -> list[int]:
    """Return our children, with those that have ended and were not collected yet."""
    with open("/proc/thread-self/children") as file:
        return [int(pid) for pid in file.read().split()]


def _require_descendant(pid: int, fd: int) -> None:
    """Raise `Foreign` unless the process behind a pidfd descends from us; `pid` is its number.

    Numbers can change hands while we read. A parent that ends is replaced by one that was there before, so what is the
    parent in two looks was it in between, and was looked at itself in that time. Thus two equal walks are true.
    """
    walk = _ancestors(pid)
    for _ in range(WALKS):
        before, walk = walk, _ancestors(pid)
        if walk == before:
            break
    else:
        raise BlockingIOError(errno.EAGAIN, "its parents end too quickly")
    signal.pidfd_send_signal(fd, 0)  # fails if it has been reaped, when its number may belong to another one
    if os.getpid() not in walk:
        raise Foreign


def _ancestors(pid: int) -> list[int]:
    """Return the parent of a process, its parent, and so on, up to us if we are among them."""
    found: list[int] = []
    own = os.getpid()
    while pid > 1 and pid != own:
        pid = parent_of(pid)
        found.append(pid)
    return found


def end_orphans(known: set[int]) -> None:
    """End children of ours that nobody knows: they belonged to a subreaper that was killed."""
    for pid in children():
        if pid not in known:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue  # ended by itself


def serve_as_subreaper(lifeline: socket.socket, worker: int, pins: Iterable[int] = ()) -> None:
    """Become the subreaper of a worker that this process has forked, and keep `pins` open. Never returns."""
    kernel.close_fds_except([lifeline.fileno(), *pins])
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    Subreaper(lifeline, worker).serve()
