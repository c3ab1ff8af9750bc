"""Puts sessions that compute without end behind those that answer, and behind the processes that serve them all.

With `sched_autogroup`, Linux gives every terminal session the weight of one process, and niceness counts only among its
own processes. Each worker has a terminal session of its own, so sessions are fair to each other, but the zygote is one
among many. The weight of such a group can be changed from outside; ordinary users can do that once in 100 ms.
"""

from __future__ import annotations

import os

from _vivarium.record import Fields
from _vivarium.surveyor.processes import Place, Sample, sample

NICENESS = 5
# A group is busy after this many looks at which it was running, and is not once it was idle at some.
BUSY = 10
CALM = 4
_IDLE_COUNTS = 2


class TerminalSession(Fields):
    """Processes that share one weight."""

    process: Sample  # any of them
    is_running: bool = False
    score: int = 0
    is_low: bool = False


class Priorities:
    """Changes the weights of terminal sessions. A process that leaves its terminal session is seen in the new one."""

    def __init__(self) -> None:
        self._is_on = _is_grouped()
        self._own = os.getsid(0)
        self._wanted: dict[int, tuple[TerminalSession, bool]] = {}

    def judge(self, place: Place, seen: list[Sample], known: dict[int, TerminalSession]) -> dict[int, TerminalSession]:
        """Take note of the processes of an enclosure. Returns what is to be known at the next look."""
        found: dict[int, TerminalSession] = {}
        for process in seen if self._is_on else []:
            # A terminal session from outside the enclosure is ours, or that of whoever started us.
            if process.session not in (0, self._own) and process.pid != place.pid1:
                before = known.get(process.session)
                group = found.get(process.session)
                if group is None:
                    score, is_low = (before.score, before.is_low) if before is not None else (0, False)
                    group = found[process.session] = TerminalSession(process, score=score, is_low=is_low)
                group.is_running = group.is_running or process.is_running
        for number, group in found.items():
            group.score += 1 if group.is_running else -_IDLE_COUNTS
            group.score = max(0, min(group.score, BUSY))
            if group.score == BUSY and not group.is_low:
                self._wanted[number] = (group, True)
            elif group.score <= CALM and group.is_low:
                self._wanted[number] = (group, False)
        return found

    def change(self) -> None:
        """Change as many weights as the kernel lets us."""
        for number, (group, is_low) in list(self._wanted.items()):
            process, now = group.process, sample(group.process.pid)
            try:
                if now is not None and (now.started, now.session) == (process.started, process.session):
                    _write_niceness(process.pid, NICENESS if is_low else 0)
                    group.is_low = is_low
            except BlockingIOError:
                return  # too soon after the last one
            except OSError:
                group.is_low = is_low  # it has just ended, or cannot be changed by us: not tried again
            del self._wanted[number]


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
