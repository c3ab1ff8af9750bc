"""Notices which variables a run added, changed or removed.

A run can change a variable by its name, or by changing an object that the variable holds. `Reach` finds the names and
objects that a run can get at, so the cost depends on what a run touches, not on how much there is.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from types import CodeType

from _vivarium.ledger.describe import variables_in
from _vivarium.ledger.kinds import ATOMS, NUMBERS, is_imported, is_variable
from _vivarium.ledger.marks import Mark
from _vivarium.ledger.parts import Marks
from _vivarium.ledger.reach import Reach
from _vivarium.ledger.scope import CERTAIN, Changes, Found, Patience, Scope

LEAST_S = 0.002  # time to look at variables, at least
MOST_S = 0.1
SHARE = 0.1  # of the time of the run
# Names that running a cell may set by itself.
_IMPLICIT = ("_", "__annotations__", "__annotate__", "__conditional_annotations__", "__warningregistry__")


class Ledger:
    """Keeps fingerprints of the variables that can change in place, and compares them after each run.

    Runs no code of the program. Names with a leading underscore, modules and the values in `injected` do not count.
    A name for a function or a class of another module is not told when it is new: the program only imported it.
    """

    def __init__(self, injected: Mapping[str, object] | None = None) -> None:
        self._injected = dict(injected or {})
        self._marks = Marks()
        self._unmarked: dict[str, None] = {}
        self._scope: Scope | None = None

    def begin(
        self, namespace: dict[str, object], codes: Iterable[CodeType] | None = None, own: frozenset[str] = frozenset()
    ) -> None:
        """Call before a run. Without `codes`, it may change everything. `own` are modules that the program wrote.

        Does nothing if it was called before and `end` was not: then all changes since count.
        """
        if self._scope is not None:
            return
        scope = Scope(namespace, own)
        if codes is None:
            scope.reach.is_everything = True
        else:
            scope.reach.follow(codes)
        if scope.reach.is_everything:
            self._note_all(namespace, scope)
        else:
            self._note(namespace, scope)
        scope.started = time.perf_counter()
        self._scope = scope

    def end(self, namespace: dict[str, object], own: frozenset[str] = frozenset()) -> Changes:
        """Return the sorted names that the run added, changed and removed.

        `omitted` counts names left out of long lists, `unseen` the variables that may have changed and were not looked
        at.
        """
        scope, self._scope = self._scope, None
        found = Found()
        if scope is None:
            return found.told()
        spent = time.perf_counter() - scope.started
        mentioned = sum(name in scope.ids for name in scope.reach.names) if scope.reach.is_everything else CERTAIN
        patience = Patience(min(MOST_S, max(LEAST_S, spent * SHARE)), mentioned)
        if scope.reach.is_everything:
            self._compare_all(namespace, scope, found, patience)
        else:
            self._add_imported(namespace, scope, own, found)
            self._compare(namespace, scope, found, patience)
        return found.told()

    def changes(self, namespace: dict[str, object]) -> Changes:
        """Return what changed since the last call, whatever code ran meanwhile."""
        if self._scope is None:
            self.begin({})
        scope, self._scope = self._scope, None
        found = Found()
        self._compare_all(namespace, scope, found, Patience(MOST_S))  # type: ignore[arg-type]
        self.begin(namespace)
        return found.told()

    def settle(self, namespace: dict[str, object], is_quiet: Callable[[], bool]) -> None:
        """Take the fingerprints that there was no time for, while nothing else is to be done."""
        while self._unmarked and is_quiet():
            name, _ = self._unmarked.popitem()
            if name in namespace and self._counts(name, namespace[name]):
                self._mark(name, namespace[name], None)

    def _counts(self, name: str, value: object) -> bool:
        return is_variable(name, value) and not (name in self._injected and self._injected[name] is value)

    def _mark(self, name: str, value: object, patience: Patience | None) -> int | None:
        """Take and keep the fingerprint of a variable, or None if there is no time for it."""
        if id(type(value)) in ATOMS:
            self._drop(name)
            return Mark(value).digest
        if patience is not None and not patience.has_more():
            self._drop(name)
            self._unmarked[name] = None
            return None
        mark = Mark(value)
        self._marks.set(name, mark)
        self._unmarked.pop(name, None)
        return mark.digest

    def _drop(self, name: str) -> None:
        self._marks.drop(name)
        self._unmarked.pop(name, None)

    def _note(self, namespace: dict[str, object], scope: Scope) -> None:
        """Note what the variables are that the run may change."""
        reach = scope.reach
        scope.names = {**reach.names, **dict.fromkeys(_IMPLICIT), **self._marks.sharing(reach.ids)}
        if reach.is_cut:
            scope.names.update(self._shared(namespace))
        patience = Patience(LEAST_S)
        for name in scope.names:
            if name in namespace:
                scope.present.add(name)
                self._note_one(name, namespace[name], scope, patience)

    def _note_one(self, name: str, value: object, scope: Scope, patience: Patience) -> None:
        if not self._counts(name, value):
            return
        scope.ids[name] = id(value)
        digest = self._marks.digest(name)
        if digest is None:
            digest = self._mark(name, value, patience)
        if digest is not None:
            scope.before[name] = digest

    def _shared(self, namespace: dict[str, object]) -> dict[str, None]:
        """Return the names of variables whose values something else refers to as well."""
        alone = _references({"value": []}, "value")
        return {name: None for name in self._marks.names() if _references(namespace, name) > alone}

    def _note_all(self, namespace: dict[str, object], scope: Scope) -> None:
        present = variables_in(namespace, self._injected)
        scope.ids = dict(zip(present, map(id, present.values())))
        scope.atoms = {name: value for name, value in present.items() if id(type(value)) in NUMBERS}
        patience = Patience(LEAST_S, 0)
        for name in present.keys() - scope.atoms.keys():
            self._note_one(name, present[name], scope, patience)

    def _add_imported(self, namespace: dict[str, object], scope: Scope, own: frozenset[str], found: Found) -> None:
        """Add what modules that were imported during the run can have changed."""
        fresh = [sys.modules[name] for name in own - scope.own if name in sys.modules]
        if not fresh:
            return
        late = Reach(namespace, own)
        late.follow_modules(fresh)
        for name in {**late.names, **self._marks.sharing(late.ids)}:
            digest = self._marks.digest(name)
            if name not in scope.names and digest is not None:
                scope.names[name] = None
                scope.present.add(name)
                scope.ids[name] = 0  # not known any more
                scope.before[name] = digest
        if late.is_everything:
            found.unseen += max(0, scope.size - len(scope.names))

    def _compare(self, namespace: dict[str, object], scope: Scope, found: Found, patience: Patience) -> None:
        there = 0
        for name in scope.names:
            is_there = name in namespace
            there += is_there
            if is_there and self._counts(name, namespace[name]):
                self._compare_one(name, namespace[name], scope, found, patience)
            elif name in scope.ids:
                self._remove(name, found)
        surprise = (len(namespace) - there) - (scope.size - len(scope.present))
        if surprise > 0:
            # Added in a way that the code does not show. New names are the last of a dictionary.
            others = (name for name in reversed(namespace) if name not in scope.names)
            for name in list(islice(others, surprise)):
                if self._counts(name, namespace[name]):
                    self._compare_one(name, namespace[name], scope, found, patience)
        elif surprise < 0:
            gone = [name for name in self._marks.names() if name not in namespace]
            for name in gone:
                self._remove(name, found)
            found.unseen += max(0, -surprise - len(gone))

    def _compare_all(self, namespace: dict[str, object], scope: Scope, found: Found, patience: Patience) -> None:
        ids = scope.ids
        now = variables_in(namespace, self._injected)
        suspects = now.keys() - scope.atoms.keys()
        if dict(zip(now, map(id, now.values()))) != ids:
            for name in ids.keys() - now.keys():
                self._remove(name, found)
            suspects |= {name for name, value in now.items() if ids.get(name) != id(value)}
        mentioned = [name for name in scope.reach.names if name in suspects]
        for name in (*mentioned, *(suspects.difference(mentioned))):
            self._compare_one(name, now[name], scope, found, patience)

    def _compare_one(self, name: str, value: object, scope: Scope, found: Found, patience: Patience) -> None:
        if name in scope.atoms:
            scope.before[name] = Mark(scope.atoms[name]).digest
        digest = self._mark(name, value, patience)
        if name not in scope.ids:
            if not is_imported(value):
                found.added.append(name)
        elif name in scope.before and digest is not None:
            if scope.before[name] != digest:
                found.changed.append(name)
        elif scope.ids[name] != id(value):
            found.changed.append(name)
        else:
            found.unseen += 1

    def _remove(self, name: str, found: Found) -> None:
        found.removed.append(name)
        self._drop(name)


def _references(namespace: dict[str, object], name: str) -> int:
    return sys.getrefcount(namespace[name]) if name in namespace else 0
