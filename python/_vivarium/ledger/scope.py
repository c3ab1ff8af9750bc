"""What one run may change, and what it was found to have changed."""

from __future__ import annotations

import time
from bisect import bisect_right
from itertools import accumulate

from _vivarium.ledger.describe import short
from _vivarium.ledger.reach import Reach

NAMES_LIMIT = 200  # names in each list
CHARS_LIMIT = 10_000  # of the names in each list; a character takes up to 12 bytes of a message
CERTAIN = 8  # variables that are always looked at: those that a run mentions first
Changes = dict[str, object]


class Scope:
    """What a run may change, and what that was before it. Refers to numbers and short strings only."""

    def __init__(self, namespace: dict[str, object], own: frozenset[str]) -> None:
        self.reach = Reach(namespace, own)
        self.own = own
        self.size = len(namespace)
        self.names: dict[str, None] = {}  # in the order in which to look
        self.present: set[str] = set()  # names that were there, whether or not they count as variables
        self.before: dict[str, int] = {}  # fingerprints
        self.ids: dict[str, int] = {}  # of the values of variables
        self.atoms: dict[str, object] = {}
        self.started = 0.0


class Found:
    """The names that were found so far."""

    def __init__(self) -> None:
        self.added: list[str] = []
        self.changed: list[str] = []
        self.removed: list[str] = []
        self.unseen = 0

    def told(self) -> Changes:
        """Return the names in the form in which they are reported."""
        lists = {"added": self.added, "changed": self.changed, "removed": self.removed}
        told = {kind: _first(names) for kind, names in lists.items()}
        omitted = sum(len(names) - len(told[kind]) for kind, names in lists.items())
        more = {"omitted": omitted, "unseen": self.unseen}
        return {**told, **{name: count for name, count in more.items() if count}}


def _first(names: list[str]) -> list[str]:
    """Return as many names as a message has room for."""
    told = [short(name) for name in sorted(names)[:NAMES_LIMIT]]
    ends = list(accumulate(map(len, told)))
    return told if not ends or ends[-1] <= CHARS_LIMIT else told[: bisect_right(ends, CHARS_LIMIT)]


class Patience:
    """How long to look: at the first few variables in any case, at the others until a time is over."""

    def __init__(self, seconds: float, certain: int = CERTAIN) -> None:
        self._certain = min(certain, CERTAIN)
        self._deadline = time.thread_time() + seconds  # the time that others take on a busy machine does not count

    def has_more(self) -> bool:
        """Return whether to look at one more."""
        self._certain -= 1
        return self._certain >= 0 or time.thread_time() < self._deadline
