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
from _vivarium.surveyor.memory import held_bytes, most_bytes, shared_bytes_of, without_borrowers
from _vivarium.surveyor.priorities import Priorities, TerminalSession
from _vivarium.surveyor.processes import Place, Processes, Sample, inner_pid, main_thread_s, processor_s, sample
from _vivarium.surveyor.sockets import Sockets

TICK_S = 0.1
# The longest pauses between looks at a quiet enclosure: one in which a process may wake up at any time, and any other.
LIGHT_SLEEP_S = 1.0
DEEP_SLEEP_S = 5.0
# A worker has two twins at most, of which one that was just forked is not known to the host yet.
MOST_TWINS = 2
TWIN_CPU_S = 0.03
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
# The kernel allots the blocks that list those of a file when it writes the file out, long after the program wrote it.
LISTING_SHARE = 256
LISTING_SLACK = 64 << 10


class Measurement(Fields):
    """What one look at an enclosure found. Times count from the start of its processes."""

    cpu_s: float = -1.0
    busy_s: float = 0.0  # of the worker's main thread alone
    memory_bytes: int = 0
    leftovers: int = 0  # processes besides pid 1, the worker and its twins
    threads: int = 1  # of the worker


class Limits(Fields):
    """What an enclosure may use, and which of its processes are which."""

    order: int  # its number
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
        self.limits = Limits(0, 0, frozenset(), 0, None, None, 0, False, False, False)
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
        processes: Processes,
        following: Following,
        overstepped: Callable[[str, int, str, int], None],
        unmeasured: Callable[[str, Exception], None],
    ) -> None:
        self._processes = processes
        self._sockets = Sockets()
        self._deputy = Deputy(processes)
        self._following = following
        self._overstepped = overstepped
        self._unmeasured = unmeasured
        self._watched: dict[str, WatchedEnclosure] = {}
        self._tolerated: dict[str, int] = {}  # sizes of directories over their limit, which may only shrink
        self._priorities = Priorities()
        self._priorities.go_first()
        self._not_before_s = 0.0

    def add(self, name: str, place: Place, home: str, limits: Limits) -> None:
        """Watch an enclosure from now on. This replaces an earlier order for it."""
        self._deputy.dismiss(name)
        if limits.wall_s is not None:
            self._deputy.take(name, _charge(place, limits, limits.wall_s))
        watched = self._watched.get(name)
        if watched is None:
            disk = DiskMeter(home, self._following, lambda: self._pids_of(name))
            watched = self._watched[name] = WatchedEnclosure(name, place, disk)
        was_resting = watched.limits.is_resting
        if was_resting and not limits.is_resting and not watched.disk.is_measured:
            limits.tolerates_found = True  # a run is held to what earlier ones left, and that is not known yet
        watched.place, watched.limits, watched.before, watched.interval_s = place, limits, None, TICK_S
        watched.stopped = watched.stopped if limits.is_stopping else None
        self._allow(watched)
        watched.disk.expire()
        # Short runs in a row each end in a rest. They must not bring the next look forward, nor put it off, unless the
        # next run is to be held to what is found.
        can_wait = was_resting and limits.is_resting and watched.next_s > 0 and not limits.tolerates_found
        watched.next_s = min(watched.next_s, time.monotonic() + TICK_S) if can_wait else 0.0
        if not limits.is_resting:
            self._priorities.expect(name)
        if limits.is_stopping:
            self._hasten(watched)

    def is_starved(self, name: str) -> bool:
        """Whether the worker wants to run, and has hardly been able to since its run was told to end."""
        watched = self._watched.get(name)
        pid, before_s = watched.stopped if watched is not None and watched.stopped is not None else (0, 0.0)
        now = sample(pid) if pid else None
        wants_to_run = now is not None and (now.is_running or now.is_held_up)
        return wants_to_run and processor_s(pid) - before_s < TURN_S

    def _hasten(self, watched: WatchedEnclosure) -> None:
        """Bring a worker that is to stop before the others."""
        try:
            self._look(watched)
        except OSError:  # out of descriptors, for one: the next look does it
            return
        self._priorities.change()

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

    def _pids_of(self, name: str) -> list[int]:
        watched = self._watched.get(name)
        return self._processes.of(watched.place) if watched is not None else []

    def _look_once(self, watched: WatchedEnclosure, disk_s: float) -> None:
        try:
            cause = self._judge(watched, disk_s)
        except OSError:  # out of descriptors, for one: look again next time
            cause = None
        except Exception as error:  # one that cannot be measured is not left alone, and the others are measured on
            self.remove(watched.name)
            self._unmeasured(watched.name, error)
            return
        if cause is not None:
            self.remove(watched.name)
            self._deputy.take(watched.name, _charge(watched.place, watched.limits, PATIENCE_S))
            self._overstepped(watched.name, watched.limits.order, cause, watched.last.leftovers)
        watched.next_s = time.monotonic() + watched.interval_s

    def _judge(self, watched: WatchedEnclosure, disk_s: float) -> str | None:
        limits, seen = watched.limits, self._look(watched)
        is_quiet = watched.before is not None and seen.cpu_s == watched.last.cpu_s
        watched.last = seen
        watched.before = watched.before or seen
        if seen.memory_bytes > limits.memory_bytes + MEMORY_SLACK:
            return "memory"
        if limits.cpu_s is not None and seen.cpu_s - watched.before.cpu_s > limits.cpu_s:
            return "cpu"
        if limits.busy_s is not None and seen.busy_s - watched.before.busy_s > limits.busy_s:
            return "busy"
        if limits.is_resting and watched.disk.is_measured and is_quiet:
            is_alone = seen.leftovers == 0 and seen.threads == 1
            watched.interval_s = min(2 * watched.interval_s, DEEP_SLEEP_S if is_alone else LIGHT_SLEEP_S)
            return None  # no process has run for long since the last look, so hardly anything was written
        watched.interval_s = TICK_S
        return "workspace" if self._is_too_large(watched, disk_s) else None

    def _is_too_large(self, watched: WatchedEnclosure, disk_s: float) -> bool:
        limits, disk = watched.limits, watched.disk
        if limits.tolerates_found:
            if disk.measure(disk_s) is None:
                return False
            limits.tolerates_found = False
            # Processes that a run left may have written since, and can be ended without harm to the worker.
            if limits.is_resting and watched.last.leftovers > 0 and disk.total > disk.max_bytes:
                return True
            self._tolerate(watched)
            return not limits.is_resting and disk.total > disk.max_bytes
        if disk.is_over(disk_s):
            return True
        if disk.is_measured and _written_out(disk.total) < self._tolerated.get(disk.path, 0):
            self._tolerate(watched)  # it may only shrink
        return False

    def _tolerate(self, watched: WatchedEnclosure) -> None:
        """Allow the present size. Removing files takes a run, which must not be ended for what was there before."""
        disk = watched.disk
        if disk.total > watched.limits.disk_bytes:
            self._tolerated[disk.path] = _written_out(disk.total)
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
        """Look at every process once."""
        seen = Measurement(cpu_s=0.0)
        hastened: int | None = None
        worker = 0
        samples: list[Sample] = []
        twins: list[Sample] = []
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
                twins.append(found)
                continue
            counted.append(found)
            if number == watched.limits.worker:
                worker = pid
                seen.threads = found.threads
                if watched.limits.is_stopping:
                    hastened = found.session
                    watched.stopped = watched.stopped or (pid, processor_s(pid))
                seen.busy_s = main_thread_s(pid) if watched.limits.busy_s is not None else 0.0
            elif not found.is_ended and number != 1 and pid != watched.place.pid1:  # a subreaper has any number
                seen.leftovers += 1
        watched.terminals = self._priorities.judge(watched.name, watched.place, samples, watched.terminals, hastened)
        seen.memory_bytes = _memory_bytes(watched, counted, twins, worker)
        if watched.place.group is None:  # which would count them
            seen.memory_bytes += self._sockets.used_bytes([one.pid for one in samples])
        return seen


def _written_out(size: int) -> int:
    """Return what files of that size take at most when the kernel has written them out."""
    return size + size // LISTING_SHARE + LISTING_SLACK


def _memory_bytes(watched: WatchedEnclosure, counted: list[Sample], twins: list[Sample], worker: int) -> int:
    """Return the memory of an enclosure. What is shared is told apart only where the quick sum may be too much."""
    limit, group = watched.limits.memory_bytes, watched.place.group
    quick = sum(map(most_bytes, counted)) + sum(max(0, most_bytes(twin) - limit) for twin in twins)
    if quick <= limit:
        return quick
    counted = without_borrowers(counted)
    unknown = _unknown_twins(counted, worker, MOST_TWINS - len(twins))
    shared = shared_bytes_of(group) if group is not None else None
    total = shared or 0
    for one in counted:
        if one not in unknown:
            total += held_bytes(one, with_shared=shared is None)
    # A twin has what its worker had, so it cannot have more than the limit. What calls itself one and has more counts.
    for twin in (*twins, *unknown):
        if most_bytes(twin) > limit:
            total += max(0, held_bytes(twin, with_shared=shared is None) - limit)
    return total


def _unknown_twins(counted: list[Sample], worker: int, most: int) -> list[Sample]:
    """Return what may be twins that the host does not know yet: a run must not be ended for its own twin.

    They are forks of the worker that have hardly run. A program that makes such forks gains as much as two twins take.
    """
    forks = [one for one in counted if one.parent == worker and not one.is_ended and one.cpu_s <= TWIN_CPU_S]
    return sorted(forks, key=lambda one: one.resident_bytes)[-most:] if most > 0 else []


def _charge(place: Place, limits: Limits, after_s: float) -> Charge:
    return Charge(place=place, worker=limits.worker, dormant=limits.dormant, at_s=time.monotonic() + after_s)
