"""Keeps what goes through several channels in order: the host reads one before something goes into the next."""

from __future__ import annotations

import fcntl
import sys
import time

SIOCOUTQ = 0x5411
PATIENCE_S = 0.02  # a slow host is not waited for
STEP_S = 0.00005
SWITCHES = 500  # of a run that are waited for; a program that alternates for ever should not take for ever


def unread_bytes(fd: int) -> int:
    """What was written to a socket and not read yet at its other end; -1 when that cannot be known."""
    try:
        return int.from_bytes(fcntl.ioctl(fd, SIOCOUTQ, b"\0\0\0\0"), sys.byteorder)
    except OSError:
        return -1


def await_read(*sockets: int) -> None:
    """Wait until the host has read all."""
    until = time.perf_counter() + PATIENCE_S
    while any(unread_bytes(fd) > 0 for fd in sockets) and time.perf_counter() < until:
        time.sleep(STEP_S)


class Order:
    """The order of two streams."""

    def __init__(self) -> None:
        self._last = -1
        self._left = SWITCHES

    def begin(self) -> None:
        """Start a run."""
        self._left = SWITCHES

    def enter(self, fd: int) -> None:
        """Something is about to be written to `fd`: what was written to the other one comes before it."""
        last, self._last = self._last, fd
        if last not in (-1, fd) and self._left > 0:
            self._left -= 1
            await_read(last)
