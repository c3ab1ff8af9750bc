"""Reshapes values of the built-in types and the standard library for JSON, by the methods of those types alone."""

from __future__ import annotations

from array import array
from base64 import b64encode
from collections import OrderedDict, deque
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from enum import Enum
from itertools import islice

from _vivarium.values.hints import Any
from _vivarium.values.loaded import member
from _vivarium.values.shapes import (
    Items,
    Pairs,
    Reshape,
    Room,
    Tag,
    attributes_of,
    class_dict_of,
    mro_of,
    package_of,
    slot_of,
)
from _vivarium.values.text import type_name

_PATHS = ("PurePosixPath", "PureWindowsPath", "PosixPath")
_ZONE_PACKAGES = ("pytz", "dateutil")
_CLOCK = ("hour", "minute", "second", "microsecond")


def find_fields(value: object, room: Room) -> object | None:
    """Reshape members of enumerations and instances of data classes; None for other values."""
    for parent in mro_of(type(value)):
        if parent is Enum:
            return _enum(value)
        fields = class_dict_of(parent).get("__dataclass_fields__")
        if type(fields) is dict:
            return _dataclass(value, fields, room)
    return None


def reshapes() -> dict[int, Reshape]:
    """Return the functions that reshape, by id of the type. Modules that are slow to load count only if loaded."""
    late = {
        id(member("decimal", "Decimal")): _decimal,
        id(member("fractions", "Fraction")): _fraction,
        id(member("uuid", "UUID")): _uuid,
        id(member("pathlib", "PurePath")): _path,
    }
    late.pop(id(None), None)
    return {**_STANDARD, **late}


def duration(nanoseconds: int) -> str:
    """Return a duration as ISO 8601 text."""
    sign, rest = ("-" if nanoseconds < 0 else ""), abs(nanoseconds)
    seconds, fraction = divmod(rest, 10**9)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    digits = f".{fraction:09d}".rstrip("0") if fraction else ""
    return f"{sign}P{days}DT{hour}H{minute}M{second}{digits}S"


def trusted_zone(zone: tzinfo | None) -> bool:
    """Return whether asking a time zone for its offset runs code of known libraries only."""
    kind = type(zone)
    return (
        zone is None or kind is timezone or kind is member("zoneinfo", "ZoneInfo") or package_of(kind) in _ZONE_PACKAGES
    )


def moment(kind: str, text: str, zone: tzinfo | None) -> Tag:
    """Return the tag of a moment, with the name of its zone if that says more than the offset."""
    fields: dict[str, object] = {"value": text}
    if type(zone) is member("zoneinfo", "ZoneInfo") and zone is not None:
        fields["zone"] = zone.key  # type: ignore[attr-defined]
    elif not trusted_zone(zone):
        fields["zone"] = type_name(zone)
    return Tag(kind, fields)


def _list(value: list[object], room: Room) -> Items:
    return Items("list", list.__getitem__(value, slice(room.items)), list.__len__(value))


def _tuple(value: tuple[object, ...], room: Room) -> object:
    length = tuple.__len__(value)
    items = tuple.__getitem__(value, slice(room.items))
    names = _names_of(type(value), length)
    if names:
        return Pairs("dict", list(zip(names, items)), length)
    return Items("list", items, length)


def _names_of(kind: type, length: int) -> tuple[str, ...]:
    """Return the field names of a named tuple."""
    for parent in mro_of(kind):
        names = class_dict_of(parent).get("_fields")
        if type(names) is tuple and len(names) == length and all(type(name) is str for name in names):
            return names
    return ()


def _dict(value: dict[object, object], room: Room) -> Pairs:
    pairs = list(islice(dict.items(value), room.items))
    length = dict.__len__(value)
    is_ordered = any(parent is OrderedDict for parent in mro_of(type(value)))
    if is_ordered and len(pairs) == length and all(type(key) is str for key, _ in pairs):
        pairs = list(OrderedDict.items(value))  # type: ignore[arg-type]  # it hashes its keys; only those of strings run no code of the program
    return Pairs("dict", pairs, length)


def _view(value: Any, room: Room) -> Items:
    return _stream("list", value, len(value), room)


def _deque(value: deque[object], room: Room) -> Items:
    return _stream("list", deque.__iter__(value), deque.__len__(value), room)


def _set(value: set[object], room: Room) -> Tag:
    return Tag(
        "set",
        {"items": _stream("set", _ordered(set.__iter__(value), set.__len__(value), room), set.__len__(value), room)},
    )


def _frozenset(value: frozenset[object], room: Room) -> Tag:
    size = frozenset.__len__(value)
    return Tag(
        "frozenset", {"items": _stream("frozenset", _ordered(frozenset.__iter__(value), size, room), size, room)}
    )


def _ordered(values: Iterable[object], length: int, room: Room) -> Iterable[object]:
    """Sort the values of a set if that runs no code of the program, so that equal sets give equal text."""
    if length > room.items:
        return values
    found = list(values)
    kinds = {id(type(item)) for item in found}
    if kinds == {id(str)} or kinds <= {id(int), id(float), id(bool)}:
        return sorted(found)  # type: ignore[type-var]
    return found


def _stream(kind: str, values: Iterable[object], length: int, room: Room) -> Items:
    return Items(kind, list(islice(values, room.items)), length)


def _array(value: array[Any], room: Room) -> Items:
    part = array.__getitem__(value, slice(room.items))
    return Items("list", array.tolist(part), array.__len__(value))


def _bytes(value: bytes, room: Room) -> Tag:
    return _binary("bytes", bytes.__len__(value), lambda end: bytes.__getitem__(value, slice(end)), room)


def _bytearray(value: bytearray, room: Room) -> Tag:
    return _binary("bytearray", bytearray.__len__(value), lambda end: bytearray.__getitem__(value, slice(end)), room)


def _binary(kind: str, length: int, head: Any, room: Room) -> Tag:
    if length * 4 // 3 + 100 <= room.bytes:
        return Tag(kind, {"value": b64encode(head(length)).decode()})
    text = b64encode(head(max(0, room.cut_bytes - 200) * 3 // 4)).decode()
    return Tag("truncated", {"type": kind, "length": length, "value": text})


def _complex(value: complex, _: Room) -> Tag:
    return Tag("complex", {"real": complex.real.__get__(value), "imag": complex.imag.__get__(value)})  # type: ignore[attr-defined]


def _range(value: range, _: Room) -> Tag:
    return Tag("range", {"start": value.start, "stop": value.stop, "step": value.step})


def _enum(value: object) -> Tag:
    found = attributes_of(value)
    return Tag("enum", {"type": type_name(value), "name": found.get("_name_"), "value": found["_value_"]})


def _dataclass(value: object, fields: dict[object, object], room: Room) -> Pairs:
    """Return the fields in the instance, without class variables and `InitVar` arguments."""
    attributes = attributes_of(value)
    pairs: list[tuple[object, object]] = []
    for name in islice(fields, room.items):
        if type(name) is str:
            found = (attributes[name],) if name in attributes else slot_of(value, name)
            pairs += [(name, content) for content in found]
    return Pairs("dict", pairs, len(pairs) + max(0, len(fields) - room.items))


def _datetime(value: datetime, _: Room) -> Tag:
    zone = datetime.tzinfo.__get__(value)  # type: ignore[attr-defined]
    day = [getattr(date, name).__get__(value) for name in ("year", "month", "day")]
    clock = [getattr(datetime, name).__get__(value) for name in _CLOCK]
    fold = datetime.fold.__get__(value)  # type: ignore[attr-defined]
    return moment("datetime", datetime(*day, *clock, zone if trusted_zone(zone) else None, fold=fold).isoformat(), zone)  # type: ignore[misc]


def _date(value: date, _: Room) -> Tag:
    return Tag(
        "date", {"value": date(*[getattr(date, name).__get__(value) for name in ("year", "month", "day")]).isoformat()}
    )


def _time(value: time, _: Room) -> Tag:
    zone = time.tzinfo.__get__(value)  # type: ignore[attr-defined]
    clock = [getattr(time, name).__get__(value) for name in _CLOCK]
    return moment("time", time(*clock, zone if trusted_zone(zone) else None).isoformat(), zone)  # type: ignore[misc]


def _timedelta(value: timedelta, _: Room) -> Tag:
    days, seconds, micros = (getattr(timedelta, name).__get__(value) for name in ("days", "seconds", "microseconds"))
    return Tag("timedelta", {"value": duration(((days * 86_400 + seconds) * 10**6 + micros) * 1_000)})


def _decimal(value: Any, _: Room) -> Tag:
    return Tag("decimal", {"value": member("decimal", "Decimal").__str__(value)})


def _fraction(value: object, _: Room) -> Tag:
    (numerator,), (denominator,) = slot_of(value, "_numerator"), slot_of(value, "_denominator")
    return Tag("fraction", {"numerator": numerator, "denominator": denominator})


def _uuid(value: object, _: Room) -> Tag:
    (number,) = slot_of(value, "int")
    digits = f"{int.__index__(number):032x}"  # type: ignore[arg-type]
    return Tag("uuid", {"value": "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))})


def _path(value: object, _: Room) -> str:
    if not any(type(value) is member("pathlib", name) for name in _PATHS):
        raise TypeError("a path class of the program has a text of its own")
    return str(value)


_STANDARD: dict[int, Reshape] = {
    id(int): lambda value, _: int.__index__(value),
    id(float): lambda value, _: float.__float__(value),
    id(str): lambda value, _: str.__str__(value),
    id(list): _list,
    id(tuple): _tuple,
    id(dict): _dict,
    id(set): _set,
    id(frozenset): _frozenset,
    id(deque): _deque,
    id(array): _array,
    id(bytes): _bytes,
    id(bytearray): _bytearray,
    id(complex): _complex,
    id(range): _range,
    id(datetime): _datetime,
    id(date): _date,
    id(time): _time,
    id(timedelta): _timedelta,
    **{id(type(view)): _view for view in ({}.keys(), {}.values(), {}.items())},
}
