"""Finds attributes of objects without running code of the program: no property, no `__getattr__`, no `__dir__`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType

from _vivarium.values import loaded

COLUMNS_LIMIT = 1000
MISSING = object()
_mro_of = type.__dict__["__mro__"].__get__
_dict_of = type.__dict__["__dict__"].__get__


def names_of(value: object) -> Iterator[object]:
    """Yield the names of attributes, some of them more than once. They may be anything."""
    own = _own(value)
    yield from own
    if _is_class(value):
        for kind in _mro_of(value):
            yield from _dict_of(kind)
    else:
        for kind in _mro_of(type(value)):
            yield from _dict_of(kind)
    if type(value) is ModuleType:  # some modules load their members when they are first used, and only name them here
        listed = own.get("__all__")
        yield from listed if type(listed) in (list, tuple) else ()  # type: ignore[misc]
    yield from columns_of(value)


def member_of(value: object, name: str) -> object:
    """Return an attribute, or MISSING if there is none or if only running code would tell."""
    inherited = _inherited(type(value), name)
    own = _inherited(value, name) if _is_class(value) else _own(value).get(name, MISSING)
    if own is not MISSING and (inherited is MISSING or not _has(inherited, "__set__")):
        return MISSING if _is_class(value) and _is_computed(own) else own
    if type(inherited) is MemberDescriptorType:  # a slot
        try:
            return MemberDescriptorType.__get__(inherited, value, type(value))
        except AttributeError:
            return MISSING
    return MISSING if inherited is MISSING or _is_computed(inherited) else inherited


def columns_of(value: object) -> list[object]:
    """Return the columns of a table of pandas, whose code is not the program's."""
    frame = loaded.member("pandas", "DataFrame")
    return value.columns[:COLUMNS_LIMIT].tolist() if type(value) is frame else []  # type: ignore[attr-defined]


def _own(value: object) -> Mapping[object, object]:
    """Return what an object itself holds by name. A class may hide that behind a descriptor, which is not called."""
    for kind in _mro_of(type(value)):
        found = _dict_of(kind).get("__dict__", MISSING)
        if found is MISSING:
            continue
        if type(found) not in (GetSetDescriptorType, MemberDescriptorType):
            return {}
        held = type(found).__get__(found, value, type(value))
        return held if type(held) is dict or kind is type else {}
    return {}


def _inherited(kind: object, name: str) -> object:
    for one in _mro_of(kind):
        found = _dict_of(one).get(name, MISSING)
        if found is not MISSING:
            return found
    return MISSING


def _is_class(value: object) -> bool:
    return type in _mro_of(type(value))


def _has(value: object, name: str) -> bool:
    return _inherited(type(value), name) is not MISSING


def _is_computed(value: object) -> bool:
    """Return whether what a class holds is not yet the value of the attribute. A function is close enough."""
    return type(value) is not FunctionType and _has(value, "__get__")
