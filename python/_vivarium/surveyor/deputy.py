"""Ends the programs of a host that does not do it itself: its event loop may stand still while their time runs out."""

from __future__ import annotations

import os
import signal
import time

from _vivarium.record import Record
from _vivarium.surveyor.processes import Place, Processes, inner_pid

AGAIN_S = 0.1
PATIENCE_S = 5.0  # with a host that was told of an excess


class Charge(Record):
    """Whose processes are to be ended, and from when on. Dormant ones, by their pids inside, are spared."""

    place: Place
    worker: int
    dormant: frozenset[int]
    at_s: float


class Deputy:
    """Waits for the host to deal with each enclosure. Any word of the host about one dismisses it."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._charges: dict[str, Charge] = {}

    def take(self, name: str, charge: Charge) -> None:
        """End the processes of an enclosure when the time has come, unless the host is heard of before."""
        self._charges[name] = charge

    def dismiss(self, name: str) -> None:
        """Leave an enclosure to the host."""
        self._charges.pop(name, None)

    def next_tick_s(self) -> float:
        """Return how long there is nothing to do, or -1 for ever."""
        if not self._charges:
            return -1
        return max(0.0, min(charge.at_s for charge in self._charges.values()) - time.monotonic())

    def tick(self) -> None:
        """End what is due, and look again soon: a program may have forked meanwhile."""
        now = time.monotonic()
        for name, charge in list(self._charges.items()):
            if charge.at_s <= now:
                self._end(charge)
                self._charges[name] = charge.replaced(at_s=time.monotonic() + AGAIN_S)

    def _end(self, charge: Charge) -> None:
        held: list[tuple[int, int]] = []
        try:
            for pid in self._processes.of(charge.place):
                if self._is_spared(pid, charge):
                    continue
                try:
                    held.append((pid, os.open(f"/proc/{pid}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)))
                except OSError:
                    continue  # it has ended
            # A process that is held and still found is the one that was found: its number is in use.
            found = set(self._processes.of(charge.place))
            for pid, fd in held:
                if pid in found:
                    _kill(fd)
        except OSError:
            return  # out of descriptors, for one: again next time
        finally:
            for _, fd in held:
                os.close(fd)

    def _is_spared(self, pid: int, charge: Charge) -> bool:
        number = inner_pid(pid)
        return number <= 1 or pid == charge.place.pid1 or (number in charge.dormant and number != charge.worker)


def _kill(process: int) -> None:
    try:
        signal.pidfd_send_signal(process, signal.SIGKILL)
    except OSError:  # it has ended
        return
