"""Keeps many busy sessions from crowding out the processes that serve them.

With `sched_autogroup`, Linux gives every terminal session the weight of one process, and niceness counts only among its
own processes. Each worker has a terminal session of its own, so sessions are fair to each other, but the engine and the
zygote are each one among many. Here the more sessions are busy, the less each of them weighs, so that all together
weigh as much as one process for each processor. Ordinary users can change a weight once in 100 ms.
"""

from __future__ import annotations

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


class TerminalSession(Fields):
    """Processes that share one weight."""

    process: Sample  # any of them
    cpu_s: float = 0.0
    is_active: bool = False
    niceness: int = 0


class Priorities:
    """Chooses the weights of terminal sessions. A process that leaves its terminal session is seen in the new one."""

    def __init__(self, processors: int | None = None) -> None:
        self._is_on = _is_grouped()
        self._processors = processors or len(os.sched_getaffinity(0))
        self._own = os.getsid(0)
        self._active: dict[str, float] = {}  # when each busy enclosure was last seen as such
        self._wanted: dict[int, tuple[TerminalSession, int]] = {}

    def judge(
        self, name: str, place: Place, seen: list[Sample], known: dict[int, TerminalSession]
    ) -> dict[int, TerminalSession]:
        """Take note of the processes of an enclosure. Returns what is to be known at the next look."""
        if not self._is_on:
            return {}
        found = self._group(place, seen, known)
        active = [number for number, group in found.items() if group.is_active]
        now = time.monotonic()
        if active:
            self._active[name] = now
        self._active = {one: since for one, since in self._active.items() if now - since < ACTIVE_S}
        niceness = self._niceness(len(self._active) * len(active))
        for number in active:
            group = found[number]
            if abs(niceness - group.niceness) >= WORTHWHILE or niceness == 0 < group.niceness:
                self._wanted[number] = (group, niceness)
        return found

    def change(self) -> None:
        """Change as many weights as the kernel lets us."""
        for number, (group, niceness) in list(self._wanted.items()):
            process, now = group.process, sample(group.process.pid)
            try:
                if now is not None and (now.started, now.session) == (process.started, process.session):
                    _write_niceness(process.pid, niceness)
                    group.niceness = niceness
            except BlockingIOError:
                return  # too soon after the last one
            except OSError:
                group.niceness = niceness  # it has just ended, or cannot be changed by us: not tried again
            del self._wanted[number]

    def _group(self, place: Place, seen: list[Sample], known: dict[int, TerminalSession]) -> dict[int, TerminalSession]:
        found: dict[int, TerminalSession] = {}
        for process in seen:
            # A terminal session from outside the enclosure is ours, or that of our parent.
            if process.session in (0, self._own) or process.pid == place.pid1:
                continue
            before = known.get(process.session)
            group = found.get(process.session)
            if group is None:
                niceness = before.niceness if before is not None else 0
                group = found[process.session] = TerminalSession(process, niceness=niceness)
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
