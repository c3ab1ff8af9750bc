"""Keeps what goes through several channels in order: the host reads one before something goes into the next."""

from __future__ import annotations

import fcntl
import sys
import time

SIOCOUTQ = 0x5411
PATIENCE_S = 1.0  # of one run in all: a host that is this slow gets things in another order rather than a slower program
STEP_S = 0.00005


def unread_bytes(fd: int) -> int:
    """What was written to a socket and not read yet at its other end; -1 when that cannot be known."""
    try:
        return int.from_bytes(fcntl.ioctl(fd, SIOCOUTQ, b"\0\0\0\0"), sys.byteorder)
    except OSError:
        return -1


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

    def await_read(self, *sockets: int) -> None:
        """Wait until the host has read all."""
        if self._patience_s <= 0 or not any(unread_bytes(fd) > 0 for fd in sockets):
            return
        start = time.perf_counter()
        while any(unread_bytes(fd) > 0 for fd in sockets) and time.perf_counter() - start < self._patience_s:
            time.sleep(STEP_S)
        self._patience_s -= time.perf_counter() - start
