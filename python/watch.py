"""Watches long runs from outside: resident memory, processor time and workspace size of a session's processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from disk import DiskMeter

TICK_S = 0.1
MEMORY_SLACK = 64 << 20  # above the limit of the clean MemoryError, so that the clean one comes first
FORKED_NAME = "vivarium"
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Watched:
    """One running session and what it may use."""

    session: str
    roots: tuple[int, ...]
    dormant: frozenset[int]
    memory_bytes: int
    cpu_s: float | None
    disk: DiskMeter
    cpu_before_s: float = 0.0


class Watch:
    """Looks at every watched session ten times a second."""

    def __init__(self, overstepped: Callable[[str, str], None]) -> None:
        self._overstepped = overstepped
        self._watched: dict[str, Watched] = {}
        self._base_anonymous = _status(os.getpid()).get("RssAnon", 0)
        # Where no fresh /proc can be mounted, the one in view counts pids as the outer namespace does.
        self._proc_is_own = os.readlink("/proc/self") == str(os.getpid())
        self._next = 0.0

    def add(self, watched: Watched) -> None:
        """Watch a session from now on."""
        if not self._proc_is_own:
            watched.roots = _outer_pids(watched.roots)
        watched.cpu_before_s = _cpu_seconds(watched.roots)
        if not self._watched:
            self._next = time.monotonic() + TICK_S
        self._watched[watched.session] = watched

    def remove(self, session: str) -> None:
        """Stop watching a session."""
        self._watched.pop(session, None)

    def next_tick_s(self) -> float:
        """How long the loop may sleep; -1 for ever."""
        return max(0.0, self._next - time.monotonic()) if self._watched else -1

    def tick(self) -> None:
        """Look, when it is time; each session is reported at most once."""
        if not self._watched or time.monotonic() < self._next:
            return
        for watched in list(self._watched.values()):
            cause = self._judge(watched)
            if cause is not None:
                self.remove(watched.session)
                self._overstepped(watched.session, cause)
        self._next = time.monotonic() + TICK_S

    def _judge(self, watched: Watched) -> str | None:
        if self._memory(watched) > watched.memory_bytes + MEMORY_SLACK:
            return "memory"
        if watched.cpu_s is not None and _cpu_seconds(watched.roots) - watched.cpu_before_s > watched.cpu_s:
            return "cpu"
        return "workspace" if watched.disk.is_over() else None

    def _memory(self, watched: Watched) -> int:
        """Resident bytes of all processes of a session that run; dormant twins are its insurance, not its use."""
        total = 0
        for pid in _tree(watched.roots):
            status = _status(pid)
            if status.get("NSpid") in watched.dormant:
                continue
            shared = self._base_anonymous if status.get("Name") == FORKED_NAME else 0
            total += max(0, status.get("RssAnon", 0) - shared) + status.get("RssShmem", 0)
        return total


def _tree(roots: tuple[int, ...]) -> Iterator[int]:
    """The processes below and including `roots`, each once."""
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
    """The numbers in a /proc of the outer pid namespace for those of our own."""
    found = {}
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/status") as file:
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
    """The few lines of /proc/PID/status that matter; sizes in bytes, NSpid as the innermost number."""
    found: dict = {}
    try:
        with open(f"/proc/{pid}/status") as file:
            for line in file:
                key, _, value = line.partition(":")
                if key in ("RssAnon", "RssShmem"):
                    found[key] = int(value.split()[0]) * 1024
                elif key == "Name":
                    found[key] = value.strip()
                elif key == "NSpid":
                    found[key] = int(value.split()[-1])
    except (OSError, ValueError):
        return {}
    return found


def _cpu_seconds(roots: tuple[int, ...]) -> float:
    """Processor time of the tree, ended children included."""
    ticks = 0
    for pid in _tree(roots):
        try:
            with open(f"/proc/{pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / CLOCK_TICKS
