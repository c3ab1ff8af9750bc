"""Intermediate forms between values and JSON text, and access to values that runs no hook of their class."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from types import GetSetDescriptorType, MemberDescriptorType

from _vivarium.values.hints import Any

mro_of = type.__dict__["__mro__"].__get__
class_dict_of = type.__dict__["__dict__"].__get__
_module_of = type.__dict__["__module__"].__get__


class Room(namedtuple("Room", ("items", "bytes", "cut_items", "cut_bytes"))):
    """How much may still be written: in total, and by a value that has to be cut."""

    __slots__ = ()


class Tag(namedtuple("Tag", ("kind", "fields"))):
    """Becomes an object with `_type` and these fields."""

    __slots__ = ()


class Items(namedtuple("Items", ("kind", "values", "length"))):
    """Becomes an array: the first values of a sequence that has `length` of them."""

    __slots__ = ()


class Pairs(namedtuple("Pairs", ("kind", "pairs", "length"))):
    """Becomes an object: the first pairs of a mapping that has `length` of them."""

    __slots__ = ()


Reshape = Callable[[Any, Room], object]


def module_of(kind: type) -> str:
    """Return the name of the module that a class gives as its own."""
    name = _module_of(kind)
    return name if type(name) is str else ""


def package_of(kind: type) -> str:
    """Return the name of the top-level package of a class."""
    return module_of(kind).partition(".")[0]


def attributes_of(value: object) -> dict[str, object]:
    """Return the instance dictionary, or an empty one if the value has none."""
    for parent in mro_of(type(value)):
        descriptor = class_dict_of(parent).get("__dict__")
        if descriptor is not None:
            if type(descriptor) is not GetSetDescriptorType:
                return {}
            found = descriptor.__get__(value)
            return found if type(found) is dict else {}
    return {}


def slot_of(value: object, name: str) -> tuple[object, ...]:
    """Return the content of a slot as a tuple of one, or an empty tuple if it is unset or missing."""
    for parent in mro_of(type(value)):
        descriptor = class_dict_of(parent).get(name)
        if type(descriptor) is MemberDescriptorType:
            try:
                return (descriptor.__get__(value),)
            except AttributeError:
                return ()
    return ()
