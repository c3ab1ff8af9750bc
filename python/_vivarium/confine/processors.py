"""Which processors there are, how many of them a session may use, and how many threads fit into its other limits."""

from __future__ import annotations

import math
import os

from _vivarium.confine import hierarchy, textfile
from _vivarium.record import Record

# What one more thread of a numeric library takes: its stack, and the buffers of OpenBLAS.
_THREAD_BYTES = 64 << 20
# Libraries do not share their threads: numpy and scipy have an OpenBLAS each, and OpenMP comes on top.
_PROCESSES_EACH = 4


class Allotment(Record):
    """The processors of one session."""

    numbers: tuple[int, ...]  # that it is held to; none if it may use all
    count: int  # that it sees
    threads: int  # of one numeric library


class Processors:
    """Chooses processors for sessions that may not use all: those that the fewest others are held to."""

    def __init__(self, numbers: tuple[int, ...], usable: int) -> None:
        self._held = dict.fromkeys(numbers, 0)
        self._usable = usable

    def allot(self, cpus: float | None, memory_bytes: int, processes: int) -> Allotment:
        """Choose for a session with these limits. `cpus` may be a fraction."""
        count = self._usable if cpus is None else min(self._usable, math.ceil(cpus))
        threads = max(1, min(count, memory_bytes // _THREAD_BYTES, processes // _PROCESSES_EACH))
        if cpus is None or count >= len(self._held):
            return Allotment((), count, threads)
        chosen = sorted(self._held, key=lambda number: self._held[number])[:count]
        return Allotment(tuple(sorted(chosen)), count, threads)

    def hold(self, numbers: tuple[int, ...]) -> None:
        """Note that a session is held to these."""
        for number in numbers:
            self._held[number] += 1

    def release(self, numbers: tuple[int, ...]) -> None:
        """Note that such a session has ended."""
        for number in numbers:
            self._held[number] -= 1


def find() -> tuple[tuple[int, ...], int]:
    """Return the processors that this process may use, and how many of them at once: a container may allow fewer."""
    numbers = tuple(sorted(os.sched_getaffinity(0)))
    return numbers, max(1, math.ceil(min(len(numbers), _quota())))


def _quota() -> float:
    """Return how many processors the control groups above us allow, infinity if they do not say."""
    try:
        mounts, membership = textfile.read("/proc/self/mountinfo"), textfile.read("/proc/self/cgroup")
    except OSError:
        return math.inf
    return min((_allowed(directory) for directory in hierarchy.own_and_above(mounts, membership)), default=math.inf)


def _allowed(directory: str) -> float:
    try:
        if os.path.exists(f"{directory}/cpu.max"):
            quota, period = textfile.read(f"{directory}/cpu.max").split()
        else:
            quota, period = (textfile.read(f"{directory}/cpu.cfs_{name}_us") for name in ("quota", "period"))
        return int(quota) / int(period) if quota != "max" and int(quota) > 0 else math.inf
    except (OSError, ValueError):  # the root has none
        return math.inf
