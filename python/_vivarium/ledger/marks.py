"""Fingerprints of values: cheap, bounded, and taken without running code of the program.

A mark covers the identity and type of the value, numbers and strings themselves, length and elements of built-in
containers two levels deep, attributes of plain objects and classes one level deep, and a fingerprint of arrays and
tables (see `tables`). Containers of more than a few hundred elements are sampled, so a change deep inside them or
between two samples may go unnoticed.
"""

from __future__ import annotations

import marshal
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from itertools import islice
from types import GetSetDescriptorType, MemberDescriptorType
from zlib import crc32

from _vivarium.ledger.kinds import MAIN, is_class
from _vivarium.ledger.libraries import tables
from _vivarium.values.hints import Any
from _vivarium.values.shapes import class_dict_of, module_of, mro_of

DEPTH = 2  # levels of nested containers
SAMPLE = 256  # elements of one container
BUDGET = 4_000  # elements of one variable
REACH = 20_000  # first elements of a large container, from which the sample is taken
_LONG_TEXT = 64  # longer strings are represented by their hash
_HASHED_BYTES = 1 << 20
_NUMBERS = {id(kind) for kind in (bool, float, complex, type(None))}
_INT = id(int)
_BIG = 1 << 64  # larger integers are represented by their hash
_TEXTS = {id(str), id(bytes)}
# Names that every class has, and that say nothing about it.
_PLUMBING = ("__dict__", "__weakref__", "__doc__", "__annotations__", "__annotate_func__", "__annotations_cache__")


class Mark:
    """The fingerprint of a value, and the ids of the objects that it was taken from.

    It keeps none of them alive: it would hold memory, and a second reference makes many operations copy.
    """

    __slots__ = ("digest", "parts")

    def __init__(self, value: object) -> None:
        """Take the fingerprint."""
        seen: set[int] = set()
        try:
            content = _Look(seen).mark(value, DEPTH)
            # Version 2 writes equal values as equal bytes; later versions depend on who else refers to them.
            self.digest = hash(marshal.dumps(content, 2))
        except KeyboardInterrupt:
            raise
        except BaseException:  # a thread of the program changed it meanwhile, or a library failed
            self.digest = hash((id(type(value)), id(value)))
        seen.add(id(value))
        self.parts = tuple(seen)


class _Look:
    """One look at one value."""

    __slots__ = ("_budget", "_seen")

    def __init__(self, seen: set[int]) -> None:
        self._budget = BUDGET
        self._seen = seen

    def mark(self, value: Any, depth: int) -> tuple[Any, ...]:
        kind = id(type(value))
        if kind in _NUMBERS:
            return (kind, value) if value == value else (kind, "nan")
        if kind == _INT:
            return (kind, value) if -_BIG < value < _BIG else (kind, hash(value), value.bit_length())
        if kind in _TEXTS:
            size = len(value)
            if size <= _LONG_TEXT:
                return kind, value
            return (kind, size, hash(value)) if size <= _HASHED_BYTES else (kind, size, id(value))
        base = kind if kind in _BUILT_IN else _base_of(type(value))
        if base == 0:
            return self._mark_object(value, depth)
        self._seen.add(id(value))
        size, look = _BUILT_IN[base]
        facts = kind, id(value), size(value)
        if depth == 0:
            return facts
        content = look(self, value, facts[2], depth - 1)
        return (*facts, *content) if base == kind else (*facts, *content, *self._mark_object(value, depth))

    def mark_all(self, values: Iterable[object], depth: int = 0) -> list[tuple[object, ...]]:
        marks = []
        for value in values:
            if self._budget <= 0:
                break
            self._budget -= 1
            marks.append(self.mark(value, depth))
        return marks

    def _mark_list(self, value: Any, size: int, depth: int) -> list[Any]:
        return self._mark_items(list.__getitem__, value, size, depth)

    def _mark_tuple(self, value: Any, size: int, depth: int) -> list[Any]:
        return self._mark_items(tuple.__getitem__, value, size, depth)

    def _mark_items(self, item: Callable[..., Any], value: Any, size: int, depth: int) -> list[Any]:
        if size <= SAMPLE:
            return self.mark_all(item(value, slice(None)), depth)
        step = size // (SAMPLE // 2)
        cuts = (slice(0, SAMPLE // 4), slice(None, None, step), slice(-SAMPLE // 4, None))
        return self.mark_all([one for cut in cuts for one in item(value, cut)], depth)

    def _mark_set(self, value: Any, size: int, depth: int) -> list[Any]:
        return self.mark_all(_sample(set.__iter__(value), size), depth)

    def _mark_frozenset(self, value: Any, size: int, depth: int) -> list[Any]:
        return self.mark_all(_sample(frozenset.__iter__(value), size), depth)

    def _mark_deque(self, value: Any, size: int, depth: int) -> list[Any]:
        return self.mark_all(_sample(deque.__iter__(value), size), depth)

    def _mark_dict(self, value: Any, size: int, depth: int) -> list[Any]:
        pairs = _sample(dict.items(value), size)
        marks = self.mark_all([part for pair in pairs for part in pair], depth)  # type: ignore[misc]
        if size > REACH:
            marks += self.mark_all([part for pair in islice(reversed(dict.items(value)), 32) for part in pair], depth)
        return marks

    def _mark_bytes(self, value: Any, size: int, depth: int) -> list[object]:
        if size <= _HASHED_BYTES:
            return [crc32(value)]
        half = _HASHED_BYTES // 2
        with memoryview(value) as view:
            return [crc32(view[:half]), crc32(view[-half:])]

    def _mark_object(self, value: object, depth: int) -> tuple[object, ...]:
        """Mark arrays and tables by their data, and plain objects and classes by their attributes."""
        kind = type(value)
        found = tables.mark_of(value, self.mark_all, self._seen)
        if found is not None:
            return id(kind), id(value), *found
        self._seen.add(id(value))
        if depth != DEPTH:
            return id(kind), id(value)
        attributes = _class_attributes(value) if is_class(value) else _attributes_of(value, kind)
        content = self._mark_dict(attributes, len(attributes), 1)
        return id(kind), id(value), len(attributes), *content


def _sample(values: Iterable[object], size: int) -> Iterable[object]:
    """Take a sample of values that cannot be indexed."""
    if size <= SAMPLE:
        return values
    reach = min(size, REACH)
    return islice(values, 0, reach, reach // SAMPLE)


# The length and the content of built-in containers by methods of their own, which a derived class cannot replace.
_BUILT_IN: dict[int, tuple[Callable[[Any], int], Callable[..., list[Any]]]] = {
    id(list): (list.__len__, _Look._mark_list),
    id(tuple): (tuple.__len__, _Look._mark_tuple),
    id(set): (set.__len__, _Look._mark_set),
    id(frozenset): (frozenset.__len__, _Look._mark_frozenset),
    id(deque): (deque.__len__, _Look._mark_deque),
    **{id(kind): (dict.__len__, _Look._mark_dict) for kind in (dict, OrderedDict, defaultdict, Counter)},
    id(bytearray): (bytearray.__len__, _Look._mark_bytes),
}


def _base_of(kind: type) -> int:
    """Return the id of the built-in container that a class derives from, or 0."""
    return next((id(parent) for parent in mro_of(kind) if id(parent) in _BUILT_IN), 0)


def _attributes_of(value: object, kind: type) -> dict[object, object]:
    """Return the attributes in slots and dictionary without calling attribute hooks."""
    slots: dict[object, object] = {}
    for parent in mro_of(kind):
        members = class_dict_of(parent)
        own = members.get("__dict__")
        if own is not None:
            found = own.__get__(value) if type(own) is GetSetDescriptorType else None
            attributes = found if type(found) is dict else {}
            return {**slots, **attributes} if slots else attributes
        if "__slots__" in members:
            for name, member in members.items():
                if type(member) is MemberDescriptorType and type(name) is str:
                    slots.update(_slot(name, member, value))
    return slots


def _slot(name: str, member: MemberDescriptorType, value: object) -> dict[object, object]:
    try:
        return {name: member.__get__(value)}
    except AttributeError:  # not set
        return {}


def _class_attributes(value: Any) -> dict[object, object]:
    """Return the attributes of a class of the program. Those of libraries keep caches in theirs."""
    if module_of(value) != MAIN:
        return {}
    members = class_dict_of(value)
    return {name: one for name, one in members.items() if type(name) is str and name not in _PLUMBING}
