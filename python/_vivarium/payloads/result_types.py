"""Tells the real types of what a program put into `results`, which JSON does not keep.

The text of this file is run in the session after the program, in a namespace of its own: standard library alone. No
code of the program runs: values are looked at through the methods of built-in types only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # slow to load

MOST_KINDS = 600  # described in all, so that the answer stays small
MOST_LISTED = 8  # different types listed for the items of one container
LOOKED_AT = 1000  # items of one container
MOST_DEPTH = 3
MOST_CLASSES = 12
NAME_LIMIT = 100

_CONTAINERS = (dict, list, tuple, set, frozenset)
_name = type.__dict__["__name__"].__get__
_mro = type.__dict__["__mro__"].__get__
_module = type.__dict__["__module__"].__get__


def result_types(results: object, names: list[str]) -> str:
    """Return JSON: the type of `results`, and of each of these names that is in it."""
    describer = _Describer()
    found: dict[str, object] = {}
    if _container_of(type(results)) is dict:
        items = {key: value for key, value in dict.items(results) if type(key) is str}  # type: ignore[arg-type]
        found = {name: describer.describe(items[name], 0) for name in names if name in items}
    return json.dumps({"results": describer.facts(type(results)), "names": found})


class _Describer:
    """Describes values until there is no room for more."""

    def __init__(self) -> None:
        self._room = MOST_KINDS

    def describe(self, value: Any, depth: int) -> dict[str, object]:
        """Return the type of a value, and which types are in it."""
        kind = type(value)
        found = self.facts(kind)
        container = _container_of(kind)
        if container is None or depth >= MOST_DEPTH:
            return found
        if container is dict:
            found["keys"] = self._distinct(dict.keys(value), depth + 1)
            found["items"] = self._distinct(dict.values(value), depth + 1)
        else:
            found["items"] = self._distinct(container.__iter__(value), depth + 1)  # type: ignore[attr-defined]
        return found

    def facts(self, kind: type) -> dict[str, object]:
        """Return the names of a class and of those that it derives from."""
        self._room -= 1
        classes = _mro(kind)[:MOST_CLASSES]
        return {
            "type": _name_of(kind),
            "module": _module_of(kind),
            "mro": [f"{_module_of(one)}.{_name_of(one)}" for one in classes],
        }

    def _distinct(self, values: Iterable[object], depth: int) -> list[dict[str, object]]:
        found: list[dict[str, object]] = []
        seen: set[int] = set()
        for value in islice(values, LOOKED_AT):
            if self._room <= 0 or len(found) >= MOST_LISTED:
                break
            kind = type(value)
            if id(kind) in seen:
                continue
            if _container_of(kind) is None:
                seen.add(id(kind))  # two containers of one type may hold different things
            description = self.describe(value, depth)
            if description not in found:
                found.append(description)
        return found


def _container_of(kind: type) -> type | None:
    parents = _mro(kind)
    return next((one for one in _CONTAINERS if any(parent is one for parent in parents)), None)


def _name_of(kind: type) -> str:
    return str.__str__(_name(kind))[:NAME_LIMIT]


def _module_of(kind: type) -> str:
    try:
        module = _module(kind)
    except AttributeError:  # a class may delete it
        return "unknown"
    return module[:NAME_LIMIT] if type(module) is str else "unknown"
