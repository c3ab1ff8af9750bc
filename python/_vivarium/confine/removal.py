"""Removes control groups without waiting: a group stays busy for a moment after its last process has ended."""

from __future__ import annotations

import time

from _vivarium.confine.cgroup import Group

TRY_S = 0.01
LONGEST_TRY_S = 1.0


class Removals:
    """The groups that are still to be removed. Each is tried again after longer and longer pauses."""

    def __init__(self) -> None:
        self._pending: list[tuple[float, float, int, Group]] = []

    def add(self, number: int, group: Group) -> None:
        """Remove a group as soon as that is possible."""
        self._pending.append((0.0, TRY_S, number, group))

    def next_s(self) -> float | None:
        """Return how long to wait for the next attempt, or None if there is nothing to remove."""
        if not self._pending:
            return None
        return max(0.0, min(due for due, *_ in self._pending) - time.monotonic())

    def attempt(self) -> list[int]:
        """Try those whose time has come. Returns the numbers of those that are gone."""
        now, removed, kept = time.monotonic(), [], []
        for due, pause_s, number, group in self._pending:
            if due > now:
                kept.append((due, pause_s, number, group))
            elif group.remove(timeout_s=0):
                removed.append(number)
            else:
                kept.append((now + pause_s, min(2 * pause_s, LONGEST_TRY_S), number, group))
        self._pending = kept
        return removed
