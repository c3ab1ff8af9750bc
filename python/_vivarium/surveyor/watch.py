"""Measures enclosures from outside: resident memory, processor time and workspace size of all their processes.

During a run it looks ten times a second. Between runs it looks as often while something works in the enclosure, and
seldom once all is quiet. With many enclosures it looks less often, so that it never takes more than its share.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from _vivarium.record import Fields
from _vivarium.surveyor.deputy import PATIENCE_S, Charge, Deputy
from _vivarium.surveyor.disk import DiskMeter
from _vivarium.surveyor.following import Following
from _vivarium.surveyor.priorities import Priorities, TerminalSession
from _vivarium.surveyor.processes import (
    Place,
    Processes,
    Sample,
    anonymous_and_shared_bytes,
    inner_pid,
    main_thread_s,
    parent_pid,
    processor_s,
    sample,
    shared_bytes_of,
)

TICK_S = 0.1
# The longest pauses between looks at a quiet enclosure: one in which a process may wake up at any time, and any other.
LIGHT_SLEEP_S = 1.0
DEEP_SLEEP_S = 5.0
MEMORY_SLACK = 64 << 20  # above the limit of the clean MemoryError, so that the clean one comes first
# After looking at what is due, the surveyor rests this many times as long as that took on its processor.
PAUSE = 3
# Other messages are read at least this often.
PASS_S = 0.05
# For the disks of all enclosures that are due, together.
DISK_S = 0.02
LEAST_DISK_S = 0.001
# Enough to raise an exception and to answer.
TURN_S = 0.02
# No run may go on with more than this above the limit, also one that has found it there.
OVERDRAFT = 256 << 20


class Measurement(Fields):
    """What one look at an enclosure found. Times count from the start of its processes."""

    cpu_s: float = -1.0
    busy_s: float = 0.0  # of the worker's main thread alone
    memory_bytes: int = 0
    leftovers: int = 0  # processes besides pid 1, the worker and its twins
    threads: int = 1  # of the worker


class Limits(Fields):
    """What an enclosure may use, and which of its processes are which."""

    worker: int  # this and the next as pids inside the enclosure
    dormant: frozenset[int]
    memory_bytes: int
    cpu_s: float | None
    busy_s: float | None
    disk_bytes: int
    is_resting: bool  # no run is on
    is_stopping: bool  # the run has been told to end
    tolerates_found: bool  # the size that is found first is not too large, whatever it is
    wall_s: float | None = None  # after so long without another order, its processes are ended


class WatchedEnclosure:
    """One enclosure: what it may use, and what was seen of it."""

    def __init__(self, name: str, place: Place, disk: DiskMeter) -> None:
        self.name = name
        self.place = place
        self.disk = disk
        self.limits = Limits(0, frozenset(), 0, None, None, 0, False, False, False)
        self.before: Measurement | None = None  # the look that times count from; the next one if there is none
        self.last = Measurement()
        self.interval_s = TICK_S
        self.next_s = 0.0
        self.terminals: dict[int, TerminalSession] = {}
        # The worker when its run was told to end, and the processor time that it had used by then.
        self.stopped: tuple[int, float] | None = None
        self.inner: dict[tuple[int, int], int] = {}  # pids inside the enclosure, by pid and start


class Watch:
    """Looks at each enclosure when its time comes. It reports one that is over a limit, and stops watching it."""

    def __init__(
        self,
        forked_name: str,
        processes: Processes,
        following: Following,
        overstepped: Callable[[str, str, int], None],
    ) -> None:
        self._processes = processes
        self._deputy = Deputy(processes)
        self._following = following
        self._forked_name = forked_name
        self._overstepped = overstepped
        self._watched: dict[str, WatchedEnclosure] = {}
        self._tolerated: dict[str, int] = {}  # sizes of directories over their limit, which may only shrink
        self._priorities = Priorities()
        self._priorities.go_first()
        self._not_before_s = 0.0
        self._inherited_bytes = 0

    def add(self, name: str, place: Place, home: str, limits: Limits) -> None:
        """Watch an enclosure from now on. This replaces an earlier order for it."""
        self._deputy.dismiss(name)
        if limits.wall_s is not None:
            self._deputy.take(name, _charge(place, limits, limits.wall_s))
        watched = self._watched.get(name)
        if watched is None:
            watched = self._watched[name] = WatchedEnclosure(name, place, DiskMeter(home, self._following))
        was_resting = watched.limits.is_resting
        if was_resting and not limits.is_resting and not watched.disk.is_measured:
            limits.tolerates_found = True  # a run is held to what earlier ones left, and that is not known yet
        is_next_rest = was_resting and limits.is_resting and watched.next_s > 0
        watched.place, watched.limits, watched.before, watched.interval_s = place, limits, None, TICK_S
        watched.stopped = watched.stopped if limits.is_stopping else None
        self._allow(watched)
        watched.disk.expire()
        soon = time.monotonic() + TICK_S
        # Short runs in a row each end in a rest. They must not bring the next look forward, nor put it off.
        watched.next_s = min(watched.next_s, soon) if is_next_rest else 0.0
        if not limits.is_resting:
            self._priorities.expect(name)
        if limits.is_stopping:
            self._look(watched)  # which hastens it
            self._priorities.change()

    def is_starved(self, name: str) -> bool:
        """Whether the worker wants to run, and has hardly been able to since its run was told to end."""
        watched = self._watched.get(name)
        pid, before_s = watched.stopped if watched is not None and watched.stopped is not None else (0, 0.0)
        now = sample(pid) if pid else None
        wants_to_run = now is not None and (now.is_running or now.is_held_up)
        return wants_to_run and processor_s(pid) - before_s < TURN_S

    def remove(self, name: str) -> None:
        """Stop watching an enclosure."""
        self._watched.pop(name, None)
        self._deputy.dismiss(name)

    def next_tick_s(self) -> float:
        """Return how long the loop may sleep, or -1 for ever."""
        pause = self._deputy.next_tick_s()
        if not self._watched:
            return pause
        due = max(self._not_before_s, min(watched.next_s for watched in self._watched.values()))
        look = max(0.0, due - time.monotonic())
        return look if pause < 0 else min(look, pause)

    def tick(self) -> None:
        """Look at those whose time has come, the longest overdue first."""
        self._deputy.tick()
        start = time.monotonic()
        if start < self._not_before_s or not self._watched:
            return
        used = time.process_time()
        due = sorted((one for one in self._watched.values() if one.next_s <= start), key=lambda one: one.next_s)
        disk_s = max(LEAST_DISK_S, DISK_S / max(1, len(due)))
        for watched in due:
            self._look_once(watched, disk_s)
            if time.monotonic() - start > PASS_S:
                break
        self._priorities.change()
        self._not_before_s = time.monotonic() + PAUSE * (time.process_time() - used)

    def _look_once(self, watched: WatchedEnclosure, disk_s: float) -> None:
        try:
            cause = self._judge(watched, disk_s)
        except OSError:  # out of descriptors, for one: look again next time
            cause = None
        if cause is not None:
            self.remove(watched.name)
            self._deputy.take(watched.name, _charge(watched.place, watched.limits, PATIENCE_S))
            self._overstepped(watched.name, cause, watched.last.leftovers)
        watched.next_s = time.monotonic() + watched.interval_s

    def _judge(self, watched: WatchedEnclosure, disk_s: float) -> str | None:
        limits, seen = watched.limits, self._look(watched)
        is_quiet = seen.cpu_s == watched.last.cpu_s
        watched.last = seen
        if watched.before is None:
            watched.before = seen
        elif limits.is_resting and watched.disk.is_measured and is_quiet:
            is_alone = seen.leftovers == 0 and seen.threads == 1
            watched.interval_s = min(2 * watched.interval_s, DEEP_SLEEP_S if is_alone else LIGHT_SLEEP_S)
            return None  # no process has run since the last look, so nothing has changed
        watched.interval_s = TICK_S
        if seen.memory_bytes > limits.memory_bytes + MEMORY_SLACK:
            return "memory"
        if limits.cpu_s is not None and seen.cpu_s - watched.before.cpu_s > limits.cpu_s:
            return "cpu"
        if limits.busy_s is not None and seen.busy_s - watched.before.busy_s > limits.busy_s:
            return "busy"
        return "workspace" if self._is_too_large(watched, disk_s) else None

    def _is_too_large(self, watched: WatchedEnclosure, disk_s: float) -> bool:
        limits, disk = watched.limits, watched.disk
        if limits.tolerates_found:
            if disk.measure(disk_s) is None:
                return False
            limits.tolerates_found = False
            self._tolerate(watched)
            return not limits.is_resting and disk.is_over(0)
        if disk.is_over(disk_s):
            return True
        if disk.is_measured and (limits.is_resting or disk.total < self._tolerated.get(disk.path, 0)):
            self._tolerate(watched)  # during a run it may only shrink
        return False

    def _tolerate(self, watched: WatchedEnclosure) -> None:
        """Allow the present size. Removing files takes a run, which must not be ended for what was there before."""
        disk = watched.disk
        if disk.total > watched.limits.disk_bytes:
            self._tolerated[disk.path] = disk.total
        else:
            self._tolerated.pop(disk.path, None)
        self._allow(watched)

    def _allow(self, watched: WatchedEnclosure) -> None:
        """Hold an enclosure to its limit, or to what is tolerated if that is more."""
        limit = watched.limits.disk_bytes
        tolerated = self._tolerated.get(watched.disk.path, 0)
        if not watched.limits.is_resting:
            tolerated = min(tolerated, limit + max(limit, OVERDRAFT))
        watched.disk.max_bytes = max(limit, tolerated)

    def _look(self, watched: WatchedEnclosure) -> Measurement:
        """Look at every process once. What it shares with others is told apart only where the sum may be too much."""
        seen = Measurement(cpu_s=0.0)
        hastened: int | None = None
        samples: list[Sample] = []
        counted: list[Sample] = []
        known, watched.inner = watched.inner, {}
        for pid in self._processes.of(watched.place):
            found = sample(pid)
            if found is None:
                continue
            samples.append(found)
            key = (pid, found.started)
            number = watched.inner[key] = known.get(key) or inner_pid(pid)
            seen.cpu_s += found.cpu_s
            if number in watched.limits.dormant and number != watched.limits.worker:
                continue  # twins do not count as use of memory
            counted.append(found)
            if number == watched.limits.worker:
                seen.threads = found.threads
                if watched.limits.is_stopping:
                    hastened = found.session
                    watched.stopped = watched.stopped or (pid, processor_s(pid))
                seen.busy_s = main_thread_s(pid) if watched.limits.busy_s is not None else 0.0
            elif not found.is_ended and number != 1 and pid != watched.place.pid1:  # a subreaper has any number
                seen.leftovers += 1
        watched.terminals = self._priorities.judge(watched.name, watched.place, samples, watched.terminals, hastened)
        seen.memory_bytes = sum(found.resident_bytes for found in counted)
        if seen.memory_bytes > watched.limits.memory_bytes:
            seen.memory_bytes = self._memory_bytes(counted, watched.place.group)
        return seen

    def _memory_bytes(self, counted: list[Sample], group: str | None) -> int:
        """Return the memory of processes without files, and without what they share with the zygote.

        What they share with each other counts once where a control group knows how much that is.
        """
        if not self._inherited_bytes:  # the zygote has all its libraries by now
            self._inherited_bytes = anonymous_and_shared_bytes(parent_pid())[0]
        total = each_shared = 0
        for found in counted:
            anonymous, shared = anonymous_and_shared_bytes(found.pid)
            inherited = self._inherited_bytes if found.name == self._forked_name else 0
            total += max(0, anonymous - inherited)
            each_shared += shared
        all_shared = shared_bytes_of(group) if group is not None else None
        return total + (each_shared if all_shared is None else all_shared)


def _charge(place: Place, limits: Limits, after_s: float) -> Charge:
    return Charge(place=place, worker=limits.worker, dormant=limits.dormant, at_s=time.monotonic() + after_s)
