"""The steps between a value and its JSON text, and looks at a value past any hook of its class."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from types import GetSetDescriptorType, MemberDescriptorType

from _vivarium.values.hints import Any

mro_of = type.__dict__["__mro__"].__get__
class_dict_of = type.__dict__["__dict__"].__get__
_module_of = type.__dict__["__module__"].__get__


class Room(namedtuple("Room", ("items", "bytes", "cut_items", "cut_bytes"))):
    """How much may still be written: what fits as a whole, and what a value that does not fit may take."""

    __slots__ = ()


class Tag(namedtuple("Tag", ("kind", "fields"))):
    """Becomes an object that names in `_type` what its fields describe."""

    __slots__ = ()


class Items(namedtuple("Items", ("kind", "values", "length"))):
    """Becomes an array: the first `values` of a sequence of `length`."""

    __slots__ = ()


class Pairs(namedtuple("Pairs", ("kind", "pairs", "length"))):
    """Becomes an object: the first `pairs` of a mapping of `length`."""

    __slots__ = ()


Reshape = Callable[[Any, Room], object]


def module_of(kind: type) -> str:
    """Return the name of the module a class says it is from."""
    name = _module_of(kind)
    return name if type(name) is str else ""


def package_of(kind: type) -> str:
    """Return the first part of the name of a class's module."""
    return module_of(kind).partition(".")[0]


def attributes_of(value: object) -> dict[str, object]:
    """Return the instance dictionary, or an empty one for values without."""
    for parent in mro_of(type(value)):
        descriptor = class_dict_of(parent).get("__dict__")
        if descriptor is not None:
            if type(descriptor) is not GetSetDescriptorType:
                return {}
            found = descriptor.__get__(value)
            return found if type(found) is dict else {}
    return {}


def slot_of(value: object, name: str) -> tuple[object, ...]:
    """Return the content of a slot, or nothing if it is empty or there is none."""
    for parent in mro_of(type(value)):
        descriptor = class_dict_of(parent).get(name)
        if type(descriptor) is MemberDescriptorType:
            try:
                return (descriptor.__get__(value),)
            except AttributeError:
                return ()
    return ()
