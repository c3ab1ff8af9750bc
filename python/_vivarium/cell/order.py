"""Keeps output in order across channels: waits until the host has read one before writing to another."""

from __future__ import annotations

import fcntl
import sys
import time

SIOCOUTQ = 0x5411
_NO_BYTES = b"\0\0\0\0"
# The longest wait. Beyond it, a slow host may see things out of order; the program goes on.
PATIENCE_S = 1.0
SHARE = 0.5  # of the time that a run takes may be spent in further waits, which are many in a quick progress loop
STEP_S = 0.00005


def unread_bytes(fd: int) -> int:
    """Return how many bytes the other end of a socket has not read yet, or -1 if that is unknown."""
    try:
        found = fcntl.ioctl(fd, SIOCOUTQ, _NO_BYTES)
    except OSError:
        return -1
    return 0 if found == _NO_BYTES else int.from_bytes(found, sys.byteorder)


class Order:
    """The order in which one process writes to its channels."""

    def __init__(self) -> None:
        self._last = -1
        self.begin()

    def begin(self) -> None:
        """Start a run."""
        self._begun_s = time.perf_counter()
        self._waited_s = 0.0

    def enter(self, fd: int) -> None:
        """Call before a write to `fd`, one of two streams: waits until the host has read what is in the other one."""
        last, self._last = self._last, fd
        if last not in (-1, fd):
            self.await_read(last)

    def await_read(self, *sockets: int) -> bool:
        """Wait until the host has read everything. Return whether it has; False also if that is unknown."""
        unread = [unread_bytes(fd) for fd in sockets]
        if max(unread) > 0:
            start = time.perf_counter()
            patience_s = PATIENCE_S + SHARE * (start - self._begun_s) - self._waited_s
            until = start + min(PATIENCE_S, patience_s)
            while max(unread) > 0 and time.perf_counter() < until:
                time.sleep(STEP_S)
                unread = [unread_bytes(fd) for fd in sockets]
            self._waited_s += time.perf_counter() - start
        return not any(unread)
