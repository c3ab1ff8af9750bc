"""Decides whether the threads of this process allow a twin, and ends those that can be ended before the fork.

A fork copies one thread. So each of the others must be known by its owner, and the owner must be known to go on in a
copy, or the copy must get it back. Otherwise there is no twin, and the receipt says so.
"""

from __future__ import annotations

import os
import sys
import time

from _vivarium.threads import endings, native, owners, revival, running
from _vivarium.threads.databases import Databases
from _vivarium.threads.native import NativeThread, NativeThreads
from _vivarium.threads.running import PythonThread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

Obstacle = tuple[str, str]  # what prevents a twin, and what to do about it

PATIENCE_S = 0.1  # threads fall asleep or end a moment after their work is done, later on a busy machine
IMPATIENCE_S = 0.002  # if that was waited for in vain before
ENDING_S = 0.25  # of a busy machine; on an idle one threads end within a millisecond
PAUSE_S = 0.0002
# How far the identity of a thread and the head of its list of locks can be apart: both lie in one structure.
DESCRIPTOR_BYTES = 0x1000
NAMED = 3
STUCK = ("threads that do not end", owners.KEEP)
FORK_WARNING = ("ignore", None, DeprecationWarning, None, 0)


class Threads:
    """The threads of this process besides the main one."""

    def __init__(self) -> None:
        self._native = NativeThreads()
        self._databases = Databases()
        self._revival = revival.Revival()
        self._revived: list[NativeThread] = []  # those that a copy gets back
        self._awaited = ""  # what did not pass in time

    def obstacle(self) -> Obstacle | None:
        """Return why a copy could not go on, if so. Ends only what `resume` starts again; waits for 100 ms at most."""
        return self._look()[0]

    def resume(self) -> None:
        """Start again what may be needed by code that is about to run."""
        self._databases.wake()

    def settle(self) -> Obstacle | None:
        """End what can be ended. Returns why a copy could not go on, if so."""
        until = time.monotonic() + ENDING_S
        while True:
            obstacle, ending, pools = self._look()
            if obstacle is not None or not (ending or pools):
                return obstacle
            if time.monotonic() > until:
                return _sum_up([STUCK])
            if pools:
                endings.pause_openmp(self._native.libraries.paths("libgomp"))
                endings.pause_opencv()
            endings.end(ending, until)
            time.sleep(PAUSE_S)

    def fork(self) -> int:
        """Fork once everything is settled. Raises OSError if that is not possible now."""
        if not self._revived:
            return fork()
        self._revival.stop(self._revived)
        try:
            pid = fork()
        except OSError:
            self._revival.release()
            raise
        if pid == 0:
            self._revival.claim()
        else:
            self._revival.release()
        return pid

    def revive(self) -> None:
        """In a copy that takes over: make the threads run that it did not get."""
        self._revival.revive()

    def _look(self) -> tuple[Obstacle | None, list[PythonThread], list[NativeThread]]:
        """Return what prevents a copy, and the threads that must be ended before."""
        self._revived = []
        refusal = owners.refusal()
        if refusal is not None:
            return _sum_up([refusal]), [], []
        if native.count() == 1:
            return None, [], []
        begun = time.monotonic()
        has_rested = False
        while True:
            survey = self._survey()
            if survey.resting and not (survey.staying or has_rested):
                has_rested = True
                self._databases.rest()
                continue
            obstacle = _sum_up(survey.staying + survey.resting + survey.passing)
            if obstacle is None or survey.staying:
                self._revived = survey.revived
                return obstacle, survey.ending, survey.pools
            if time.monotonic() - begun > (IMPATIENCE_S if obstacle[0] == self._awaited else PATIENCE_S):
                self._awaited = obstacle[0]
                return obstacle, [], []
            time.sleep(PAUSE_S)

    def _survey(self) -> _Survey:
        survey = _Survey(can_revive=self._revival.is_possible)
        python = running.running()
        for thread in python.values():
            survey.add_python(thread)
        try:
            natives = self._native.others()
        except OSError:
            survey.add_unseen()
            return survey
        for each in natives:
            if not any(0 <= each.descriptor - ident < DESCRIPTOR_BYTES for ident in python):
                survey.add_native(each, is_python=each.library == self._native.python())
        return survey


class _Survey:
    """What the threads of this process mean for a copy at one moment."""

    def __init__(self, *, can_revive: Callable[[], bool]) -> None:
        self._can_revive = can_revive
        self.staying: list[Obstacle] = []
        self.passing: list[Obstacle] = []
        self.ending: list[PythonThread] = []
        self.pools: list[NativeThread] = []
        self.resting: list[Obstacle] = []  # they pass if their owner can do without
        self.revived: list[NativeThread] = []

    def add_python(self, thread: PythonThread) -> None:
        """Add a thread that runs Python code."""
        if thread.fate == running.ENDS:
            self.ending.append(thread)
        elif thread.fate != running.FORGETS:
            group = self.passing if thread.fate == running.PASSES else self.staying
            group.append((thread.what, thread.remedy))

    def add_native(self, thread: NativeThread, *, is_python: bool) -> None:
        """Add a thread that runs no Python code."""
        if is_python:  # it is about to start or to end, or has never run more than a function in C
            self.passing.append(running.LIVE)
            return
        fate, what, remedy = owners.fate_of(thread.library)
        if fate == owners.ENDED_FIRST:
            self.pools.append(thread)
        elif fate == owners.RESTS:
            self.resting.append((what, remedy))
        elif fate == owners.REVIVED:
            self._add_revived(thread, (what, remedy))
        elif fate == owners.DIES:
            group = self.staying if thread.library else self.passing  # one that has just ended is not known any more
            group.append((what, remedy))
        elif fate == owners.SURVIVES_IDLE and not native.is_idle(thread):
            self.passing.append((f"{what}, which are still working", remedy))

    def _add_revived(self, thread: NativeThread, obstacle: Obstacle) -> None:
        if revival.name_of(thread).startswith(owners.ALLOCATORS):
            return
        self.revived.append(thread)
        if len(self.revived) > revival.MOST_THREADS or not self._can_revive():
            self.staying.append(obstacle)
        elif not revival.is_waiting(thread):
            self.passing.append((f"{obstacle[0]}, which are still working", obstacle[1]))

    def add_unseen(self) -> None:
        """Add what may be there on a machine that shows no threads."""
        package = owners.unseen(sys.modules)
        if package is not None:
            self.staying.append((f"threads of {package}, if it has any: they cannot be seen here", owners.KEEP))


def fork() -> int:
    """Fork, without the warning of Python 3.12 and later about threads: each of them has been looked at."""
    filters = sys.modules["warnings"].filters if "warnings" in sys.modules else None
    if type(filters) is not list or native.count() == 1:
        return os.fork()
    filters.insert(0, FORK_WARNING)  # the functions of `warnings` would also forget which warnings were shown
    try:
        return os.fork()
    finally:
        if filters and filters[0] is FORK_WARNING:
            del filters[0]


def _sum_up(obstacles: list[Obstacle]) -> Obstacle | None:
    if not obstacles:
        return None
    whats = list(dict.fromkeys(what for what, _ in obstacles))
    remedies = list(dict.fromkeys(remedy for _, remedy in obstacles))
    more = [f"{len(whats) - NAMED} more"] if len(whats) > NAMED else []
    return f"a twin would not have {_listed([*whats[:NAMED], *more])}", " ".join(remedies[:NAMED])


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
