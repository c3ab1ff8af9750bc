"""Gives data that JSON can hold by dots: `context.TYPE.key.field`.

Values that JSON lacks are stored in the forms of `docs/values.md`, and are rebuilt when they are read. Notebooks carry
the text of this file, so it needs only the standard library and uses other libraries where they are installed.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

LISTED_NAMES = 20


class Context:
    """A JSON object whose members are attributes, and items for names that are no identifiers."""

    __slots__ = ("_members", "_path")

    def __init__(self, members: dict[str, Any], path: str = "context") -> None:
        object.__setattr__(self, "_members", members)
        object.__setattr__(self, "_path", path)

    def __getattr__(self, name: str) -> Any:
        """Return a member, or a method of dictionaries; say what there is if there is neither."""
        if name in self._members:
            return _shown(self._members[name], f"{self._path}.{name}")
        if name in _METHODS:
            return partial(_METHODS[name], self)
        raise AttributeError(self._missing(name))

    def __getitem__(self, name: str) -> Any:
        """Return a member by any name that JSON allows."""
        if name not in self._members:
            raise KeyError(self._missing(name))
        return _shown(self._members[name], f"{self._path}[{name!r}]")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse: what the context says holds for everybody who reads it."""
        raise AttributeError(f"{self._path} cannot be changed; {self._path}.to_dict() is a copy that can")

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse, for the same reason."""
        self.__setattr__(name, None)

    def __contains__(self, name: object) -> bool:
        """Tell whether there is a member of that name."""
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        """Go through the names."""
        return iter(self._members)

    def __len__(self) -> int:
        """Count the members."""
        return len(self._members)

    def __eq__(self, other: object) -> bool:
        """Compare with another context or with a dictionary."""
        return self._members == other._members if isinstance(other, Context) else self.to_dict() == other

    __hash__ = None  # type: ignore[assignment]

    def __dir__(self) -> list[str]:
        """List what can follow a dot."""
        return sorted({*(name for name in self._members if name.isidentifier()), "to_dict", *_METHODS})

    def __reduce__(self) -> tuple[Any, ...]:
        """Let `copy` and `pickle` rebuild it, since they could not change it either."""
        return Context, (self._members, self._path)

    def __repr__(self) -> str:
        """Say what there is."""
        return f"<{self._path}: {self._names()}>"

    def to_dict(self) -> dict[str, Any]:
        """Return a copy in plain dictionaries and lists."""
        return {name: _plain(member) for name, member in self._members.items()}

    def _missing(self, name: object) -> str:
        return f"{self._path} has no {name!r}; it has: {self._names()}"

    def _names(self) -> str:
        names = [str(name) for name in self._members]
        more = f" and {len(names) - LISTED_NAMES} more" if len(names) > LISTED_NAMES else ""
        return ", ".join(names[:LISTED_NAMES]) + more or "nothing"


def load_context(path: str) -> Context:
    """Read a JSON file that holds an object."""
    with open(path, encoding="utf-8") as file:
        members = json.load(file)
    if not isinstance(members, dict):
        raise ValueError(f"{path} holds {type(members).__name__}, not a JSON object")
    return Context(members)


def _get(context: Context, name: str, default: Any = None) -> Any:
    return context[name] if name in context else default  # noqa: SIM401 - this is that `get`


# Not methods of the class: there, they would hide members of their name.
_METHODS: dict[str, Callable[..., Any]] = {
    "keys": lambda context: list(context),
    "values": lambda context: [context[name] for name in context],
    "items": lambda context: [(name, context[name]) for name in context],
    "get": _get,
}


def _shown(value: Any, path: str) -> Any:
    if isinstance(value, list):
        return [
            _shown(item, f"{path}[{index}]") if type(item) in (dict, list) else item for index, item in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    made = _made(value)
    return Context(value, path) if made is value else made


def _plain(value: Any) -> Any:
    """Return a copy in plain dictionaries and lists, with tagged values made again."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = _made(value)
    return {name: _plain(member) for name, member in value.items()} if made is value else made


def _made(value: dict[str, Any]) -> Any:
    """Return what a tagged object stands for; the object itself if it is none, or its library is not there."""
    tag = value.get("_type")
    make = _MAKERS.get(tag) if isinstance(tag, str) else None
    if make is None:
        return value
    try:
        return make(**{name: _plain(field) for name, field in value.items() if name != "_type"})
    except Exception:  # it only looks like one of ours: other fields, other content
        return value


def _key(value: Any) -> Any:
    return tuple(_key(item) for item in value) if isinstance(value, list) else value


def _library(name: str, *steps: str) -> Callable[..., Any]:
    """Return a function that calls one of a module, which is imported when it is needed."""

    def call(*args: Any, **named: Any) -> Any:
        found: Any = import_module(name)
        for step in steps:
            found = getattr(found, step)
        return found(*args, **named)

    return call


def _moment(kind: str, value: str, zone: str | None = None) -> Any:
    moment = _library("datetime", kind, "fromisoformat")(value)
    if zone is None:
        return moment
    named = _library("zoneinfo", "ZoneInfo")(zone)
    return moment.astimezone(named) if kind == "datetime" else moment.replace(tzinfo=named)


def _duration(value: str) -> Any:
    sign, days, hours, minutes, seconds = _library("re", "fullmatch")(
        r"(-?)P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?", value
    ).groups(default="0")
    length = _library("datetime", "timedelta")(
        int(days), hours=int(hours), minutes=int(minutes), seconds=float(seconds)
    )
    return -length if sign == "-" else length


def _labels(index: list[Any]) -> Any:
    several = bool(index) and all(isinstance(label, list) for label in index)
    return _library("pandas", "MultiIndex", "from_tuples")([_key(label) for label in index]) if several else index


def _numpy_time(kind: str, value: Any, unit: str) -> Any:
    return _library("numpy", kind)("NaT" if value is None else value, unit)


_MAKERS: dict[str, Callable[..., Any]] = {
    "int": lambda value: int(value, 0),
    "float": lambda value: {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}[value],
    "complex": lambda real, imag: complex(real, imag),
    "bytes": lambda value: _library("base64", "b64decode")(value, validate=True),
    "bytearray": lambda value: bytearray(_library("base64", "b64decode")(value, validate=True)),
    "set": lambda items: {_key(item) for item in items},
    "frozenset": lambda items: frozenset(_key(item) for item in items),
    "dict": lambda items: {_key(key): item for key, item in items},
    "range": lambda start, stop, step: range(start, stop, step),
    "datetime": partial(_moment, "datetime"),
    "date": partial(_moment, "date"),
    "time": partial(_moment, "time"),
    "timedelta": _duration,
    "decimal": lambda value: _library("decimal", "Decimal")(value),
    "fraction": lambda numerator, denominator: _library("fractions", "Fraction")(numerator, denominator),
    "uuid": lambda value: _library("uuid", "UUID")(value),
    "datetime64": partial(_numpy_time, "datetime64"),
    "longdouble": lambda value: _library("numpy", "longdouble")(value),
    "ndarray": lambda dtype, shape, value: _library("numpy", "array")(value, dtype=dtype).reshape(shape),
    "DataFrame": lambda index, value: _library("pandas", "DataFrame")(value, index=_labels(index)),
    "Series": lambda name, index, value: _library("pandas", "Series")(value, index=_labels(index), name=_key(name)),
    "categorical": lambda categories, ordered, value: _library("pandas", "Categorical")(value, categories, ordered),
    "interval": lambda left, right, closed: _library("pandas", "Interval")(left, right, closed),
    "period": lambda value, freq: _library("pandas", "Period")(value, freq),
    "missing": lambda value: getattr(import_module("pandas"), {"NaT": "NaT", "NA": "NA"}[value]),
}
