"""Fingerprints of values: cheap, bounded, and taken without running code of the program.

A mark holds the identity and type of the value, numbers and short strings themselves, length and elements of built-in
containers two levels deep, attributes of plain objects one level deep, and a fingerprint of arrays and tables (see
`tables`). Containers of more than a few hundred elements are sampled, so a change deep inside them or between two
samples may go unnoticed.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from itertools import islice
from types import GetSetDescriptorType
from zlib import crc32

from _vivarium.cell import tables
from _vivarium.values.hints import Any

Mark = tuple[object, ...]
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
_SEQUENCES = {id(kind) for kind in (list, tuple)}
_STREAMS = {id(kind) for kind in (set, frozenset, deque)}
_MAPPINGS = {id(kind) for kind in (dict, OrderedDict, defaultdict, Counter)}
_mro = type.__dict__["__mro__"].__get__
_class_dict = type.__dict__["__dict__"].__get__


def mark_of(value: object) -> Mark:
    """Return the fingerprint of a value. Comparing two fingerprints runs no code of the program either."""
    kind = id(type(value))
    try:
        return _mark(value, DEPTH, [BUDGET])
    except KeyboardInterrupt:
        raise
    except BaseException:  # a thread of the program changed it meanwhile, or a library failed
        return kind, id(value)


def _mark(value: object, depth: int, budget: list[int]) -> Mark:
    kind = id(type(value))
    if kind in _NUMBERS:
        return (kind, value) if value == value else (kind, "nan")
    if kind == _INT:
        return (kind, value) if -_BIG < value < _BIG else (kind, hash(value), value.bit_length())  # type: ignore[operator,attr-defined]
    if kind in _TEXTS:
        size = len(value)  # type: ignore[arg-type]
        if size <= _LONG_TEXT:
            return kind, value
        return (kind, size, hash(value)) if size <= _HASHED_BYTES else (kind, size, id(value))
    look = _LOOKS.get(kind)
    if look is None:
        return _mark_object(value, depth, budget)
    if depth == 0:
        return kind, id(value), len(value)  # type: ignore[arg-type]
    return (kind, id(value), len(value), *look(value, depth - 1, budget))  # type: ignore[arg-type]


def _mark_all(values: Iterable[object], depth: int, budget: list[int]) -> list[Mark]:
    marks = []
    for value in values:
        if budget[0] <= 0:
            break
        budget[0] -= 1
        marks.append(_mark(value, depth, budget))
    return marks


def _mark_sequence(value: list[object], depth: int, budget: list[int]) -> list[Mark]:
    if len(value) > SAMPLE:
        step = len(value) // (SAMPLE // 2)
        value = [*value[: SAMPLE // 4], *value[::step], *value[-SAMPLE // 4 :]]
    return _mark_all(value, depth, budget)


def _mark_stream(value: Iterable[object], depth: int, budget: list[int]) -> list[Mark]:
    return _mark_all(_sample(value, len(value)), depth, budget)  # type: ignore[arg-type]


def _mark_mapping(value: dict[object, object], depth: int, budget: list[int]) -> list[Mark]:
    marks = []
    for key, item in _sample(dict.items(value), dict.__len__(value)):  # type: ignore[misc]
        marks += _mark_all((key, item), depth, budget)
    if len(value) > REACH:
        marks += _mark_all([part for pair in islice(reversed(dict.items(value)), 32) for part in pair], depth, budget)
    return marks


def _sample(values: Iterable[object], size: int) -> Iterable[object]:
    """Take a sample of values that cannot be indexed."""
    if size <= SAMPLE:
        return values
    reach = min(size, REACH)
    return islice(values, 0, reach, reach // SAMPLE)


def _mark_bytes(value: bytearray, _: int, __: list[int]) -> list[object]:
    if len(value) <= _HASHED_BYTES:
        return [crc32(value)]
    half = _HASHED_BYTES // 2
    return [crc32(value[:half]), crc32(value[-half:])]


_LOOKS: dict[int, Callable[..., Any]] = {
    **dict.fromkeys(_SEQUENCES, _mark_sequence),
    **dict.fromkeys(_STREAMS, _mark_stream),
    **dict.fromkeys(_MAPPINGS, _mark_mapping),
    id(bytearray): _mark_bytes,
}


def _mark_object(value: object, depth: int, budget: list[int]) -> Mark:
    """Mark arrays and tables by their data, and plain objects by the dictionary of their attributes."""
    kind = type(value)
    found = tables.mark_of(value, lambda values: _mark_all(values, 0, budget))
    if found is not None:
        return id(kind), id(value), *found
    attributes = _attributes_of(value, kind) if depth == DEPTH else None
    if attributes is None:
        return id(kind), id(value)
    return id(kind), id(value), len(attributes), *_mark_mapping(attributes, 1, budget)


def _attributes_of(value: object, kind: type) -> dict[object, object] | None:
    """Return the instance dictionary without calling attribute hooks; None for classes."""
    for parent in _mro(kind):
        if parent is type:
            return None
        descriptor = _class_dict(parent).get("__dict__")
        if descriptor is not None:
            if type(descriptor) is not GetSetDescriptorType:
                return None
            found = descriptor.__get__(value)
            return found if type(found) is dict else None
    return None
