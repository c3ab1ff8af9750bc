"""Describes the variables of a session, without running code of the program."""

from __future__ import annotations

import json
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Mapping
from itertools import islice

from _vivarium.ledger.kinds import is_class
from _vivarium.ledger.libraries import tables
from _vivarium.values.hints import TypedDict
from _vivarium.values.text import attempt, printable, text_of, type_name

LIMIT = 5_000  # variables described
BYTES_LIMIT = 900_000  # of their JSON; the host takes a mebibyte
TEXT_LIMIT = 200
_SCALARS = {id(kind) for kind in (int, float, complex, bool, str, bytes, type(None), range, slice)}
_SIZED = {
    id(kind): kind.__len__
    for kind in (list, tuple, dict, set, frozenset, bytearray, deque, OrderedDict, defaultdict, Counter)
}
_type_name = type.__dict__["__name__"].__get__
_FUNCTIONS = {id(kind) for kind in (types.FunctionType, types.BuiltinFunctionType)}


class Variable(TypedDict):
    """One variable in a list of variables."""

    name: str
    type: str
    description: str
    sizeBytes: int | None


def inspect_variables(namespace: dict[str, object], injected: Mapping[str, object] | None = None) -> list[Variable]:
    """Describe the variables, sorted by name. Beyond a few thousand, a last entry counts those not described."""
    found = variables_in(namespace, injected or {})
    shown: list[Variable] = []
    room = BYTES_LIMIT
    for name, value in islice(reversed(found.items()), LIMIT):
        one = _variable(name, value)
        room -= len(json.dumps(one))
        if room < 0:
            break
        shown.append(one)
    shown.sort(key=lambda one: one["name"])
    left_out = len(found) - len(shown)
    if left_out:
        text = f"{left_out} older variables are not listed"
        shown.append({"name": "…", "type": "", "description": text, "sizeBytes": None})
    return shown


def _variable(name: str, value: object) -> Variable:
    description, size = _describe(value), _size_of(value)
    return {"name": short(name), "type": type_name(value), "description": description, "sizeBytes": size}


def variables_in(namespace: dict[str, object], injected: Mapping[str, object]) -> dict[str, object]:
    """Return the variables. Names with a leading underscore, modules and `injected` do not count."""
    module = types.ModuleType
    found = {
        name: value
        for name, value in dict(namespace).items()  # a thread of the program may add a variable meanwhile
        if type(name) is str and not name.startswith("_") and type(value) is not module
    }
    for name, value in injected.items():
        if name in found and found[name] is value:
            del found[name]
    return found


def short(name: str) -> str:
    """Return a name as it is told."""
    return printable(name[:TEXT_LIMIT])


def _describe(value: object) -> str:
    """Describe a value in one line."""
    kind = type(value)
    if id(kind) in _SCALARS:
        text = text_of(value, TEXT_LIMIT)
    elif id(kind) in _SIZED:
        text = f"{type_name(value)} of {_SIZED[id(kind)](value)}"  # type: ignore[arg-type]
    elif id(kind) in _FUNCTIONS:
        text = f"function {value.__name__}"  # type: ignore[attr-defined]
    elif is_class(value):
        text = f"class {_type_name(value)}"
    else:
        found: list[str] = []
        attempt(lambda: found.append(tables.describe(value) or ""))
        text = "".join(found) or f"{type_name(value)} object"
    return " ".join(printable(text).splitlines())[:TEXT_LIMIT]


def _size_of(value: object) -> int:
    """Return the size in bytes, using methods of built-in types and known libraries only."""
    kind = type(value)
    if id(kind) in _SCALARS or id(kind) in _SIZED:
        return sys.getsizeof(value)
    found: list[int] = []
    attempt(lambda: found.append(tables.size_of(value) or 0))
    return sum(found) or object.__sizeof__(value)
