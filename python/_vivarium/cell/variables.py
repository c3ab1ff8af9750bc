"""Notices which variables a cell added, changed or removed, and describes the variables there are."""

from __future__ import annotations

import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Mapping
from itertools import islice

from _vivarium.cell import tables
from _vivarium.cell.marks import Mark, mark_of
from _vivarium.values.hints import TypedDict
from _vivarium.values.text import attempt, printable, text_of, type_name

NAMES_LIMIT = 200  # names in each list
LOOK_LIMIT = 5_000  # variables examined
DESCRIPTION_LIMIT = 200
_SCALARS = {id(kind) for kind in (int, float, complex, bool, str, bytes, type(None), range, slice)}
_SIZED = {
    id(kind): kind.__len__
    for kind in (list, tuple, dict, set, frozenset, bytearray, deque, OrderedDict, defaultdict, Counter)
}
_mro, _type_name = type.__dict__["__mro__"].__get__, type.__dict__["__name__"].__get__
_FUNCTIONS = {id(kind) for kind in (types.FunctionType, types.BuiltinFunctionType)}


class Variable(TypedDict):
    """One variable in a list of variables."""

    name: str
    type: str
    description: str
    sizeBytes: int


class Ledger:
    """Fingerprints of the variables at the last call.

    Runs no code of the program. It always notices a new binding, and notices changes in place as far as fingerprints
    reach (see `marks`). Names with a leading underscore, modules and the values in `injected` do not count.
    """

    def __init__(self, injected: Mapping[str, object] | None = None) -> None:
        self._injected = dict(injected or {})
        self._marks: dict[str, Mark] = {}

    def changes(self, namespace: dict[str, object]) -> dict[str, object]:
        """Return the sorted names that were added, changed and removed since the last call.

        `omitted` counts names left out of long lists.
        """
        before = self._marks
        self._marks = now = {name: mark_of(value) for name, value in _variables(namespace, self._injected)}
        if now == before:
            return {"added": [], "changed": [], "removed": []}
        found = {
            "added": [name for name in now if name not in before],
            "changed": [name for name, mark in now.items() if name in before and before[name] != mark],
            "removed": [name for name in before if name not in now],
        }
        result: dict[str, object] = {
            kind: [_short(name) for name in sorted(names)[:NAMES_LIMIT]] for kind, names in found.items()
        }
        more = {kind: len(names) - NAMES_LIMIT for kind, names in found.items() if len(names) > NAMES_LIMIT}
        return {**result, "omitted": sum(more.values())} if more else result


def inspect_variables(namespace: dict[str, object], injected: Mapping[str, object] | None = None) -> list[Variable]:
    """Describe the variables, sorted by name, without running code of the program."""
    found = sorted(islice(_variables(namespace, injected or {}), LOOK_LIMIT), key=lambda item: item[0])
    return [
        {"name": _short(name), "type": type_name(value), "description": _describe(value), "sizeBytes": _size_of(value)}
        for name, value in found
    ]


def _variables(namespace: dict[str, object], injected: Mapping[str, object]) -> list[tuple[str, object]]:
    """Return names and values of the program's own variables."""
    items: list[tuple[str, object]] = []
    for _ in range(3):  # a thread of the program may add a variable meanwhile
        try:
            items = list(islice(namespace.items(), LOOK_LIMIT))
            break
        except RuntimeError:
            continue
    return [
        (name, value)
        for name, value in items
        if type(name) is str
        and not name.startswith("_")
        and type(value) is not types.ModuleType
        and not (name in injected and injected[name] is value)
    ]


def _short(name: str) -> str:
    return printable(name[:DESCRIPTION_LIMIT])


def _describe(value: object) -> str:
    """Describe a value in one line."""
    kind = type(value)
    if id(kind) in _SCALARS:
        text = text_of(value, DESCRIPTION_LIMIT)
    elif id(kind) in _SIZED:
        text = f"{type_name(value)} of {_SIZED[id(kind)](value)}"  # type: ignore[arg-type]
    elif id(kind) in _FUNCTIONS:
        text = f"function {value.__name__}"  # type: ignore[attr-defined]
    elif any(parent is type for parent in _mro(kind)):
        text = f"class {_type_name(value)}"
    else:
        found: list[str] = []
        attempt(lambda: found.append(tables.describe(value) or ""))
        text = "".join(found) or f"{type_name(value)} object"
    return " ".join(printable(text).splitlines())[:DESCRIPTION_LIMIT]


def _size_of(value: object) -> int:
    """Return the size in bytes, using methods of built-in types and known libraries only."""
    kind = type(value)
    if id(kind) in _SCALARS or id(kind) in _SIZED:
        return sys.getsizeof(value)
    found: list[int] = []
    attempt(lambda: found.append(tables.size_of(value) or 0))
    return sum(found) or object.__sizeof__(value)
