"""Keeps many busy sessions from crowding out the processes that serve them.

With `sched_autogroup`, Linux gives every terminal session the weight of one process, and niceness counts only among its
own processes. Each worker has a terminal session of its own, so sessions are fair to each other, but the engine and the
zygote are each one among many. Here the more sessions are busy, the less each of them weighs, so that all together
weigh as much as one process for each processor. A worker that is to stop comes before the others, so that it does not
seem to ignore its interrupt. Ordinary users can change a weight once in 100 ms, and to no more than the usual one.
"""

from __future__ import annotations

import contextlib
import math
import os
import time

from _vivarium.record import Fields
from _vivarium.surveyor.processes import Place, Sample, sample

STEP = 1.25  # between two levels of niceness
# A ninth of the usual weight: enough to wake up before them, and other programs do not crowd out the sessions.
LOWEST = 10
# Levels are not changed for less, since that costs a system call with global locks.
WORTHWHILE = 3
ACTIVE_S = 1.0
# How long a worker that was to stop keeps the usual weight. The kernel makes one that loses weight wait for its turn.
HASTENED_S = 3.0
# Of the zygote with its helpers, where we may do that.
FIRST = -10


class TerminalSession(Fields):
    """Processes that share one weight."""

    process: Sample  # any of them
    niceness: int
    cpu_s: float = 0.0
    is_active: bool = False


class Priorities:
    """Chooses the weights of terminal sessions. A process that leaves its terminal session is seen in the new one."""

    def __init__(self, processors: int | None = None) -> None:
        self._is_on = _is_grouped()
        self._processors = processors or len(os.sched_getaffinity(0))
        self._own = os.getsid(0)
        self._active: dict[str, float] = {}  # when each busy enclosure was last seen as such
        self._hastened: dict[int, float] = {}
        self._wanted: dict[int, tuple[TerminalSession, int]] = {}

    def go_first(self) -> None:
        """Have our own terminal session, which is that of the zygote, served before all others."""
        if self._is_on:
            with contextlib.suppress(OSError):  # an ordinary user may not
                _write_niceness(os.getpid(), FIRST)

    def expect(self, name: str) -> None:
        """An enclosure is at work, and counts as busy until it has been looked at."""
        self._active.setdefault(name, time.monotonic())

    def judge(
        self,
        name: str,
        place: Place,
        seen: list[Sample],
        known: dict[int, TerminalSession],
        hastened: int | None = None,
    ) -> dict[int, TerminalSession]:
        """Take note of the processes of an enclosure, one of whose terminal sessions may be hastened.

        Returns what is to be known at the next look.
        """
        if not self._is_on:
            return {}
        found = self._group(place, seen, known)
        active = [number for number, group in found.items() if group.is_active]
        now = time.monotonic()
        if active:
            self._active[name] = now
        self._active = {one: since for one, since in self._active.items() if now - since < ACTIVE_S}
        niceness = self._niceness(len(self._active) * len(active))
        if hastened is not None:
            self._hastened[hastened] = now
        self._hastened = {one: since for one, since in self._hastened.items() if now - since < HASTENED_S}
        for number, group in found.items():
            wanted = 0 if number in self._hastened else niceness
            if (group.is_active or number == hastened) and _is_worthwhile(group.niceness, wanted):
                self._wanted[number] = (group, wanted)
        return found

    def change(self) -> None:
        """Change as many weights as the kernel lets us."""
        for number, (group, niceness) in list(self._wanted.items()):
            process, now = group.process, sample(group.process.pid)
            try:
                if now is not None and (now.started, now.session) == (process.started, process.session):
                    _write_niceness(process.pid, niceness)
            except BlockingIOError:
                return  # too soon after the last one
            except OSError:  # it has just ended
                pass
            del self._wanted[number]

    def _group(self, place: Place, seen: list[Sample], known: dict[int, TerminalSession]) -> dict[int, TerminalSession]:
        found: dict[int, TerminalSession] = {}
        for process in seen:
            # A terminal session from outside the enclosure is ours, or that of our parent.
            if process.session in (0, self._own) or process.pid == place.pid1:
                continue
            group = found.get(process.session)
            if group is None:
                # Its programs can change it as well.
                group = found[process.session] = TerminalSession(process, _read_niceness(process.pid))
            group.cpu_s += process.cpu_s
            group.is_active = group.is_active or process.is_running
        for number, group in found.items():
            before = known.get(number)
            group.is_active = group.is_active or (before is not None and group.cpu_s > before.cpu_s)
        return found

    def _niceness(self, groups: int) -> int:
        """Return the niceness at which so many groups weigh as much as one process for each processor."""
        share = groups / self._processors
        return min(LOWEST, round(math.log(share, STEP))) if share > 1 else 0


def _is_worthwhile(present: int, wanted: int) -> bool:
    return abs(wanted - present) >= WORTHWHILE or wanted == 0 < present


def _read_niceness(pid: int) -> int:
    """Return the weight of its group, from a line like `/autogroup-70 nice 0`."""
    try:
        fd = os.open(f"/proc/{pid}/autogroup", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # it has just ended
        return 0
    try:
        return int(os.read(fd, 100).split()[-1])
    except (OSError, IndexError):
        return 0
    finally:
        os.close(fd)


def _write_niceness(pid: int, niceness: int) -> None:
    fd = os.open(f"/proc/{pid}/autogroup", os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, str(niceness).encode())
    finally:
        os.close(fd)


def _is_grouped() -> bool:
    try:
        with open("/proc/sys/kernel/sched_autogroup_enabled") as file:
            return file.read().strip() == "1"
    except OSError:  # a kernel without it
        return False
