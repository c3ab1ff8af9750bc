"""Dormant copies of a worker: one of its present state, one of the state before the last change."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time

from _vivarium.threads import endings
from _vivarium.threads.obstacles import Obstacle, Threads
from _vivarium.values.hints import Any
from _vivarium.worker.join import Admission, WorkerSettings
from _vivarium.worker.memory import anonymous_bytes, private_bytes
from _vivarium.worker.snapshots import Manifest, Snapshots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

ROLLBACK_FILES = 2000
MOST_CROWDING = 50.0  # a second, with the usual delay
MEMORY_REMEDY = "Delete what is not needed any more, or raise memoryMb."
ENDING_S = 2.0  # far above what the kernel takes to end a process, also on a busy machine
PAUSE_S = 0.0005
FORK_REMEDY = "End processes that earlier runs have left behind, or raise the limits of the session."


class Twins:
    """Makes and drops the copies. A copy sleeps until the pid 1 of the enclosure wakes it with SIGUSR1."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._usual_delay_ms = self.delay_ms = settings.twin_delay_s * 1000
        self.problem: Obstacle | None = None
        self.dropped_previous: str | None = None  # why the last twin cost the one before it
        self.is_enabled = False
        self._is_stale = False  # the state at birth is that of any fresh worker: it needs no twin
        self._failure: Obstacle | None = None
        self._limit = self._base = 0
        self._present: int | None = None
        self._previous: int | None = None
        self._outdated: int | None = None  # another twin of the same state has replaced it
        self._present_bytes = self._previous_bytes = 0  # what each of them can hold for itself at most
        self._dropped: dict[int, int] = {}  # twins that are ending, and what each of them can still hold for itself
        self._threads = Threads()
        self._snapshots = Snapshots(settings.workspace, settings.rollback, ROLLBACK_FILES)
        self._manifest: Manifest | str = "no copy of the files was made"
        self._previous_manifest: Manifest | str | None = None

    def admit(self, admission: Admission) -> None:
        """Take over the limits of a session, and whether it wants twins."""
        self.is_enabled = admission.twins
        self._limit = admission.memory_bytes
        self._base = anonymous_bytes()
        self._snapshots.max_bytes = admission.rollback_bytes

    @property
    def is_due(self) -> bool:
        """Return whether the present state still needs a twin."""
        return self._is_stale

    def defer(self, crowding: float) -> None:
        """Wait longer for a quiet moment where sessions crowd each core: the next run may be waiting for its turn."""
        self.delay_ms = self._usual_delay_ms * min(max(1.0, crowding), MOST_CROWDING)

    def begin_change(self) -> None:
        """Call before a run changes the state: the present twin becomes the one to roll back to."""
        self._threads.resume()
        if self._previous is not None:
            self._drop(self._previous, self._previous_bytes)
        self._previous, self._present = self._present, None
        self._previous_bytes = self._present_bytes
        self._previous_manifest = self._manifest
        self._is_stale = self.is_enabled

    def foresee(self) -> None:
        """Find out, after a change, what prevents a twin of the present state. A fork that failed may fail again."""
        if self._is_stale:
            self.problem = self._threads.obstacle() or self._memory_obstacle() or self._failure

    def make(self) -> int | None:
        """Fork a copy. Returns its pid, None if that is not possible now, or 0 in the copy once it is woken.

        Without a copy the state stays due for one. If it was not due, the twin that it has stays.
        """
        self._reap()
        obstacle = self._threads.settle() or self._memory_obstacle()
        self.problem = obstacle if self._is_stale else None
        if obstacle is not None:
            return None
        self._make_room()
        self._manifest = self._snapshots.take()
        self._snapshots.forget(self._previous_manifest)
        randomness = _random_state()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
        try:
            pid = _with_reserve(self._threads.fork)
        except OSError as error:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
            if self._is_stale:
                self.problem = self._failure = (f"a twin could not be forked: {error.strerror}", FORK_REMEDY)
            return None
        self._failure = None
        self._is_stale = False
        if pid == 0:
            self._sleep(randomness)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
        if pid != 0:
            self._outdated, self._present = self._present, pid
        return pid

    def drop_outdated(self) -> None:
        """Drop the twin that the last one has replaced, once the host knows the new one."""
        if self._outdated is not None:
            self._drop(self._outdated, self._present_bytes)
            self._outdated = None

    def renew(self) -> None:
        """Drop the present twin, which may be gone, and make another at the next quiet moment."""
        if self._present is not None:
            self._drop(self._present, self._present_bytes)
            self._present = None
        self._is_stale = self.is_enabled

    def restore_files(self, is_wanted: bool) -> str:
        """Restore the workspace to the moment when this copy was made. Returns what was done."""
        if not is_wanted:
            return "kept"
        if isinstance(self._manifest, str):
            return f"kept: {self._manifest}"
        return _describe_restored(self._snapshots.restore(self._manifest))

    def clear_files(self) -> str:
        """Empty the workspace, as it was when the session began."""
        return _describe_restored(self._snapshots.restore(Manifest({})))

    def _memory_obstacle(self) -> Obstacle | None:
        """The control group holds twice the limit: the program may use one half, and its twins the other."""
        used = self._used()
        if used <= self._limit:
            return None
        return f"{used >> 20} MB in use, and there is room for copies of {self._limit >> 20} MB", MEMORY_REMEDY

    def _make_room(self) -> None:
        """Drop the twin of the previous state if both do not fit, whatever the program does to what they share.

        A page that all three share now becomes a copy once at most, which the new twin accounts for. So of the previous
        twin only that counts which it has for itself already. One that is ending holds its memory until it has ended.
        """
        self.dropped_previous = None
        self._present_bytes = used = self._used()
        kept = self._previous_bytes if self._previous is not None else 0
        if used + kept + sum(self._dropped.values()) <= self._limit:
            return
        self._await_dropped()
        if self._previous is None or used + kept <= self._limit:
            return
        private = private_bytes(self._previous)
        held = self._previous_bytes if private is None else min(private, self._previous_bytes)
        if used + held <= self._limit:
            return
        self._drop(self._previous, held)
        self._await_dropped()
        self._previous = self._previous_manifest = None
        self.dropped_previous = (
            f"copies of the present state ({used >> 20} MB) and of what the last run changed ({held >> 20} MB) "
            f"do not fit into {self._limit >> 20} MB"
        )

    def _used(self) -> int:
        return anonymous_bytes() - self._base

    def _sleep(self, randomness: object) -> None:
        """In the copy: wait to be woken, then carry on as the worker."""
        os.setpgid(0, 0)  # signals to the worker's process group must not reach its twin
        self._snapshots.detach()
        signal.sigwait({signal.SIGUSR1})
        try:
            _with_reserve(self._threads.revive)
        except OSError:
            os._exit(1)  # a copy that lacks threads would hang where they are needed
        if randomness is not None:  # forking reseeds `random`, but a twin must have the same state
            sys.modules["random"].setstate(randomness)
        endings.forget()
        self._present = self._previous = self._outdated = None
        self._dropped = {}
        self._previous_manifest = None
        self._is_stale = True

    def _drop(self, pid: int, held_bytes: int) -> None:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return  # the program has already waited for it
        self._dropped[pid] = held_bytes

    def _await_dropped(self) -> None:
        """Wait until dropped twins have ended. What they hold and what the program writes next might be too much."""
        until = time.monotonic() + ENDING_S
        while self._dropped and time.monotonic() < until:
            time.sleep(PAUSE_S)
            self._reap()

    def _reap(self) -> None:
        """Collect dropped twins later: waiting for one would delay the run that dropped it."""
        for pid in list(self._dropped):
            try:
                if os.waitpid(pid, os.WNOHANG)[0] == 0:
                    continue
            except ChildProcessError:
                pass  # collected by the program
            del self._dropped[pid]


def _describe_restored(notes: list[str]) -> str:
    """Say what became of the files, given what could not be restored."""
    if not notes:
        return "restored"
    others = f", and {len(notes) - 1} more" if len(notes) > 1 else ""
    return f"restored in part: not {notes[0]}{others}"


def _random_state() -> object | None:
    return sys.modules["random"].getstate() if "random" in sys.modules else None


def _with_reserve(work: Callable[[], Any]) -> Any:
    """Use the slots that only twins may use: the hard limit of processes is above that of the program."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    resource.setrlimit(resource.RLIMIT_NPROC, (hard, hard))
    try:
        return work()
    finally:
        resource.setrlimit(resource.RLIMIT_NPROC, (soft, hard))  # in both processes, if it was a fork
