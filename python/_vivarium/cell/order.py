"""Keeps what goes through several channels in order: the host reads one before something goes into the next."""

from __future__ import annotations

import fcntl
import sys
import time

SIOCOUTQ = 0x5411
_NO_BYTES = b"\0\0\0\0"
PATIENCE_S = (
    1.0  # of one run in all: a host that is this slow gets things in another order rather than a slower program
)
STEP_S = 0.00005


def unread_bytes(fd: int) -> int:
    """What was written to a socket and not read yet at its other end; -1 when that cannot be known."""
    try:
        found = fcntl.ioctl(fd, SIOCOUTQ, _NO_BYTES)
    except OSError:
        return -1
    return 0 if found == _NO_BYTES else int.from_bytes(found, sys.byteorder)


class Order:
    """The order of what one process writes."""

    def __init__(self) -> None:
        self._last = -1
        self._patience_s = PATIENCE_S

    def begin(self) -> None:
        """Start a run."""
        self._patience_s = PATIENCE_S

    def enter(self, fd: int) -> None:
        """Something is about to be written to `fd`, one of two streams: what was written to the other one comes before it."""
        last, self._last = self._last, fd
        if last not in (-1, fd):
            self.await_read(last)

    def await_read(self, *sockets: int) -> bool:
        """Wait until the host has read all, and tell whether it has; False also where that cannot be known."""
        unread = [unread_bytes(fd) for fd in sockets]
        if self._patience_s > 0 and max(unread) > 0:
            start = time.perf_counter()
            while max(unread) > 0 and time.perf_counter() - start < self._patience_s:
                time.sleep(STEP_S)
                unread = [unread_bytes(fd) for fd in sockets]
            self._patience_s -= time.perf_counter() - start
        return not any(unread)
