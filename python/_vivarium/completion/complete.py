"""Completes code with what a session holds. It looks at objects and runs none of their code."""

from __future__ import annotations

import builtins
import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from types import ModuleType

from _vivarium.completion.members import MISSING, columns_of, member_of, names_of
from _vivarium.completion.modules import modules_in
from _vivarium.completion.place import Place, place_in
from _vivarium.values.text import attempt

MATCHES_LIMIT = 500
LOOKED_AT = 50_000  # names or keys
KEY_LIMIT = 100  # characters
_DICTS = {id(kind) for kind in (dict, OrderedDict, defaultdict, Counter)}


def complete(
    namespace: dict[str, object], text: str, injected: Mapping[str, object] | None = None
) -> dict[str, object]:
    """Return the end of `text` that can be completed, and what it can become, sorted."""
    matches: set[str] = set()
    place: list[Place] = []
    # What it looks at may change meanwhile, if threads of the program are running.
    attempt(lambda: place.extend(filter(None, [place_in(text)])))
    for one in place:
        attempt(lambda: matches.update(_matches(one, namespace, injected or {})))  # noqa: B023 - called at once
        return {"prefix": one.part, "matches": sorted(matches)[:MATCHES_LIMIT]}
    return {"prefix": "", "matches": []}


def _matches(place: Place, namespace: dict[str, object], injected: Mapping[str, object]) -> Iterator[str]:
    if place.kind == "module":
        return _fitting(modules_in(place.path), place.part)
    if place.kind == "imported":
        module = sys.modules.get(place.path)
        names = names_of(module) if type(module) is ModuleType else ()
        return _fitting([*islice(names, LOOKED_AT), *modules_in(place.path)], place.part)
    if place.kind == "attribute":
        value = _find(namespace, place.path)
        return _fitting(() if value is MISSING else names_of(value), place.part)
    if place.kind == "key":
        keys = list(_keys(_find(namespace, place.path), place))
        if keys or place.quote:
            return iter(keys)
    own = [name for name in dict(namespace) if name not in injected or namespace[name] is not injected[name]]
    return _fitting([*own, *_words()] if place.part else own, place.part)


def _words() -> list[object]:
    """Return the names that Python itself gives."""
    import keyword

    return [*keyword.kwlist, *builtins.__dict__]


def _fitting(names: Iterable[object], part: str) -> Iterator[str]:
    """Yield the names that begin with `part`. Those with leading underscores must be asked for."""
    for name in islice(names, LOOKED_AT):
        if type(name) is not str or not name.startswith(part) or not name.isidentifier():
            continue
        hidden = "__" if name.startswith("__") else "_"
        if not name.startswith("_") or part.startswith(hidden):
            yield name


def _keys(value: object, place: Place) -> Iterator[str]:
    """Yield the rest of `value[`, up to the bracket, for keys that can be written plainly."""
    keys = dict.__iter__(value) if id(type(value)) in _DICTS else columns_of(value)  # type: ignore[arg-type]
    for key in islice(keys, LOOKED_AT):
        if type(key) is int and not place.quote and key.bit_length() < 64:
            yield f"{key}]"
        elif type(key) is str and key.startswith(place.part) and len(key) <= KEY_LIMIT and _is_plain(key):
            quote = place.quote or '"'
            yield f"{key}{quote}]" if place.quote else f"{quote}{key}{quote}]"


def _is_plain(key: str) -> bool:
    return key.isprintable() and not any(mark in key for mark in "'\"\\")


def _find(namespace: dict[str, object], path: str) -> object:
    """Return what a dotted path leads to, or MISSING."""
    first, *rest = path.split(".")
    value = namespace.get(first, builtins.__dict__.get(first, MISSING))
    for name in rest:
        value = MISSING if value is MISSING else member_of(value, name)
    return value
