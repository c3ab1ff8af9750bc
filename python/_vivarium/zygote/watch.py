"""Measures enclosures from outside: resident memory, processor time and workspace size of all their processes.

During a run it looks ten times a second. Between runs it looks as often while something works in the enclosure, and
seldom once all is quiet.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

from _vivarium.record import Fields
from _vivarium.zygote.disk import DiskMeter
from _vivarium.zygote.setup import FORKED_NAME

TICK_S = 0.1
# The longest pauses between looks at a quiet enclosure: one in which a process may wake up at any time, and any other.
LIGHT_SLEEP_S = 1.0
DEEP_SLEEP_S = 5.0
MEMORY_SLACK = 64 << 20  # above the limit of the clean MemoryError, so that the clean one comes first
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


class Measurement(Fields):
    """What one look at an enclosure found. Times count from the start of its processes."""

    cpu_s: float = -1.0
    busy_s: float = 0.0  # of the worker's main thread alone
    memory_bytes: int = 0
    leftovers: int = 0  # processes besides pid 1, the worker and its twins
    threads: int = 1  # of the worker
    worker: int = 0  # its pid as we see it


class WatchedEnclosure(Fields):
    """One enclosure and what it may use."""

    id: str
    roots: Callable[[], tuple[int, ...]]  # pid 1, and the worker as long as that is our child
    worker: int  # this and the next as pids inside the enclosure
    dormant: frozenset[int]
    memory_bytes: int
    cpu_s: float | None
    disk: DiskMeter
    is_resting: bool = False  # no run is on
    busy_s: float | None = None
    is_told: bool = False  # the host has reported the size of its files already
    before: Measurement = Measurement()  # each look replaces it, and nothing changes it
    last: Measurement = Measurement()
    interval_s: float = TICK_S
    next_s: float = 0.0


class Watch:
    """Looks at each enclosure when its time comes. It reports one that is over a limit, and stops watching it."""

    def __init__(self, overstepped: Callable[[str, str, int], None]) -> None:
        self._overstepped = overstepped
        self._watched: dict[str, WatchedEnclosure] = {}
        self._tolerated: dict[str, int] = {}  # sizes of directories over their limit, which may only shrink
        self._base_anonymous = _status(os.getpid()).get("RssAnon", 0)
        # Where no fresh /proc can be mounted, the one in view counts pids as the outer namespace does.
        self._proc_is_own = os.readlink("/proc/self") == str(os.getpid())
        self._translated: dict[tuple[int, ...], tuple[int, ...]] = {}

    def add(self, watched: WatchedEnclosure) -> None:
        """Watch an enclosure. This replaces an earlier request for it."""
        watched.before = watched.last = self._look(watched)
        watched.disk.allow(self._tolerated.get(watched.disk.path, 0))
        watched.is_told = watched.is_told and watched.is_resting  # a run is held to what was measured before it
        watched.next_s = time.monotonic() + TICK_S
        self._watched[watched.id] = watched

    def remove(self, name: str) -> None:
        """Stop watching an enclosure."""
        self._watched.pop(name, None)

    def next_tick_s(self) -> float:
        """Return how long the loop may sleep, or -1 for ever."""
        if not self._watched:
            return -1
        return max(0.0, min(watched.next_s for watched in self._watched.values()) - time.monotonic())

    def tick(self) -> None:
        """Look at those whose time has come."""
        now = time.monotonic()
        for watched in [one for one in self._watched.values() if one.next_s <= now]:
            try:
                cause = self._judge(watched)
            except OSError:  # out of descriptors, for one: look again next time
                cause = None
            if cause is not None:
                self.remove(watched.id)
                self._overstepped(watched.id, cause, watched.last.leftovers)
            watched.next_s = time.monotonic() + watched.interval_s

    def _judge(self, watched: WatchedEnclosure) -> str | None:
        if watched.is_resting and watched.disk.is_measured and self._is_quiet(watched):
            is_alone = watched.last.leftovers == 0 and watched.last.threads == 1
            watched.interval_s = min(2 * watched.interval_s, DEEP_SLEEP_S if is_alone else LIGHT_SLEEP_S)
            return None  # no process has run since the last look, so nothing has changed
        watched.interval_s = TICK_S
        watched.last = seen = self._look(watched)
        if seen.memory_bytes > watched.memory_bytes + MEMORY_SLACK:
            return "memory"
        if watched.cpu_s is not None and seen.cpu_s - watched.before.cpu_s > watched.cpu_s:
            return "cpu"
        if watched.busy_s is not None and seen.busy_s - watched.before.busy_s > watched.busy_s:
            return "busy"
        return "workspace" if self._is_too_large(watched) else None

    def _is_quiet(self, watched: WatchedEnclosure) -> bool:
        return self._times(watched, 0)[0] == watched.last.cpu_s

    def _is_too_large(self, watched: WatchedEnclosure) -> bool:
        if watched.is_told:
            watched.is_told = watched.disk.measure() is None
            if not watched.is_told:
                self._tolerate(watched)
            return not watched.is_told and watched.disk.total > watched.disk.ceiling
        if watched.disk.is_over():
            return True
        if watched.is_resting and watched.disk.is_measured:
            self._tolerate(watched)
        return False

    def _tolerate(self, watched: WatchedEnclosure) -> None:
        """Allow the present size. Removing files takes a run, which must not be ended for what was there before."""
        disk = watched.disk
        disk.allow(disk.total)
        if disk.total > disk.limit:
            self._tolerated[disk.path] = disk.total
        else:
            self._tolerated.pop(disk.path, None)

    def _look(self, watched: WatchedEnclosure) -> Measurement:
        roots = self._roots(watched)
        seen = Measurement()
        for pid in _tree(roots):
            status = _status(pid)
            number = status.get("NSpid")
            if number == watched.worker:
                seen.worker, seen.threads = pid, status.get("Threads", 1)
            elif number in watched.dormant:
                continue  # twins do not count as use
            elif pid not in roots and status.get("State") != "Z":
                seen.leftovers += 1
            shared = self._base_anonymous if status.get("Name") == FORKED_NAME else 0
            seen.memory_bytes += max(0, status.get("RssAnon", 0) - shared) + status.get("RssShmem", 0)
        seen.cpu_s, seen.busy_s = self._times(watched, seen.worker)
        return seen

    def _times(self, watched: WatchedEnclosure, worker: int) -> tuple[float, float]:
        """Return the processor time of all processes, with ended children, and of the main thread of the worker."""
        ticks = sum(sum(_ticks(f"/proc/{pid}/stat")) for pid in _tree(self._roots(watched)))
        return ticks / CLOCK_TICKS, sum(_ticks(f"/proc/{worker}/task/{worker}/stat")[:2]) / CLOCK_TICKS

    def _roots(self, watched: WatchedEnclosure) -> tuple[int, ...]:
        roots = tuple(pid for pid in watched.roots() if pid)
        if self._proc_is_own:
            return roots
        if roots not in self._translated:
            self._translated = {roots: _outer_pids(roots)}
        return self._translated[roots]


def _tree(roots: tuple[int, ...]) -> Iterator[int]:
    """Yield `roots` and all processes below them, each once."""
    seen: set[int] = set()
    pending = list(roots)
    while pending:
        pid = pending.pop()
        if pid in seen:
            continue
        seen.add(pid)
        yield pid
        pending += _children(pid)


def _outer_pids(pids: tuple[int, ...]) -> tuple[int, ...]:
    """Return the pids of the outer namespace for pids of our own."""
    found = {}
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/status", errors="replace") as file:
                numbers = next(line for line in file if line.startswith("NSpid:")).split()[1:]
        except (OSError, StopIteration):
            continue  # not a process, or one that has just ended
        if len(numbers) > 1:
            found[int(numbers[1])] = int(numbers[0])
    return tuple(found[pid] for pid in pids if pid in found)


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                children += map(int, file.read().split())
    except OSError:
        return children  # the process ended while we looked
    return children


def _status(pid: int) -> dict:
    """Return the relevant lines of /proc/PID/status; sizes in bytes, NSpid as the innermost number."""
    found: dict = {}
    try:
        with open(f"/proc/{pid}/status", errors="replace") as file:  # a process can call itself anything
            for line in file:
                key, _, value = line.partition(":")
                if key in ("RssAnon", "RssShmem"):
                    found[key] = int(value.split()[0]) * 1024
                elif key in ("Name", "State"):
                    found[key] = value.strip() if key == "Name" else value.split()[0]
                elif key == "Threads":
                    found[key] = int(value)
                elif key == "NSpid":
                    found[key] = int(value.split()[-1])
    except (OSError, ValueError):
        return {}
    return found


def _ticks(path: str) -> list[int]:
    """Return user and system time of a process and of its ended children, from a `stat` file in /proc."""
    try:
        with open(path, errors="replace") as file:
            return [int(field) for field in file.read().rpartition(")")[2].split()[11:15]]
    except OSError:
        return []  # it has just ended
