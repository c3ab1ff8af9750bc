"""Reads what `_vivarium.values.encode` writes: parses strictly, and rebuilds values where possible."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID


def parse(text: str) -> Any:
    """Parse as strictly as JavaScript does: ASCII here, no NaN, no Infinity, no duplicate names, no lone surrogates."""
    if not text.isascii():
        raise ValueError("not ASCII")
    parsed = json.loads(text, parse_constant=_refuse, object_pairs_hook=_unique)
    json.dumps(parsed, ensure_ascii=False).encode("utf-8")
    return parsed


def decode(value: Any) -> Any:
    """Return the Python value that a parsed one stands for."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("_type")
    if kind is None:
        return {name: decode(item) for name, item in value.items()}
    return _DECODERS[kind](value)


def _refuse(name: str) -> None:
    raise ValueError(name)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("duplicate names")
    return dict(pairs)


def _timedelta(value: Any) -> timedelta:
    sign, *parts = re.fullmatch(r"(-?)P(\d+)DT(\d+)H(\d+)M(\d+)(?:\.(\d+))?S", value["value"]).groups()  # type: ignore[union-attr]
    days, hours, minutes, seconds = map(int, parts[:4])
    micros = int((parts[4] or "").ljust(6, "0")[:6])
    length = timedelta(days, seconds, micros, hours=hours, minutes=minutes)
    return -length if sign else length


def _datetime(value: Any) -> datetime:
    moment = datetime.fromisoformat(value["value"])
    if "zone" in value:
        from zoneinfo import ZoneInfo

        moment = moment.astimezone(ZoneInfo(value["zone"]))
    return moment


def _key(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


_DECODERS = {
    "int": lambda value: int(value["value"], 0),
    "float": lambda value: float(value["value"]),
    "complex": lambda value: complex(decode(value["real"]), decode(value["imag"])),
    "bytes": lambda value: b64decode(value["value"]),
    "bytearray": lambda value: bytearray(b64decode(value["value"])),
    "set": lambda value: {_key(item) for item in decode(value["items"])},
    "frozenset": lambda value: frozenset(_key(item) for item in decode(value["items"])),
    "dict": lambda value: {_key(decode(key)): decode(item) for key, item in value["items"]},
    "range": lambda value: range(decode(value["start"]), decode(value["stop"]), decode(value["step"])),
    "datetime": _datetime,
    "date": lambda value: date.fromisoformat(value["value"]),
    "time": lambda value: time.fromisoformat(value["value"]),
    "timedelta": _timedelta,
    "decimal": lambda value: Decimal(value["value"]),
    "fraction": lambda value: Fraction(decode(value["numerator"]), decode(value["denominator"])),
    "uuid": lambda value: UUID(value["value"]),
}
