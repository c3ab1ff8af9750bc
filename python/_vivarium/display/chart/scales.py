"""Reads one axis of a matplotlib plot: label, unit, scale, ticks, and the value at a position."""

from __future__ import annotations

import math
import re
import sys

from _vivarium.values.hints import Any
from _vivarium.values.text import plain, printable

MAX_TICKS = 60
MAX_TEXT = 200
_UNIT = re.compile(r"[(\[]\s*([^()\[\]]{1,20}?)\s*[)\]]\s*$")
_DATE_FORMATTERS = ("DateFormatter", "AutoDateFormatter", "ConciseDateFormatter")


class Scale:
    """The values at the positions along an axis."""

    def __init__(self, axis: Any) -> None:
        self._axis = axis
        self._zone: Any = None
        self.categories = _categories_of(axis)
        self.kind = "categorical" if self.categories else "date" if _is_date(axis) else str(axis.get_scale())
        if self.kind == "date":
            units = axis.get_units()
            self._zone = units if hasattr(units, "utcoffset") else None

    def describe(self) -> dict[str, Any]:
        """Return label, unit, scale, limits and ticks of the axis."""
        label = text(self._axis.get_label_text())
        low, high = sorted(float(one) for one in self._axis.get_view_interval())
        ticks = [
            (place, text(tick.get_text()))
            for place, tick in zip(self._axis.get_majorticklocs(), self._axis.get_ticklabels())
        ]
        ticks = [(place, name) for place, name in ticks if low <= place <= high][:MAX_TICKS]
        return {
            "label": label or None,
            "unit": self._unit(label),
            "scale": self.kind,
            "limits": None if self.kind == "categorical" else [self.value(rounded(low)), self.value(rounded(high))],
            "ticks": [self.value(rounded(place)) for place, _ in ticks],
            "tickLabels": [name for _, name in ticks],
        }

    def value(self, position: Any) -> Any:
        """Return the value at a position: a category, a date as ISO text, or a number; None for a gap."""
        number = number_of(position)
        if number is None:
            return None
        if self.kind == "categorical":
            place = min(self.categories, key=lambda one: abs(one - number))
            return self.categories[place] if abs(place - number) <= 0.5 else number
        return self._date(number) if self.kind == "date" else number

    def _date(self, number: float) -> str | float:
        frequency = getattr(self._axis, "freq", None)
        try:
            if frequency is not None:  # pandas counts periods
                return str(sys.modules["pandas"].Period(ordinal=int(number), freq=frequency))
            moment = sys.modules["matplotlib.dates"].num2date(number, tz=self._zone)
        except (ValueError, OverflowError):  # before year 1 or after 9999
            return number
        return (moment if self._zone else moment.replace(tzinfo=None)).isoformat()

    def _unit(self, label: str) -> str | None:
        found = _UNIT.search(label)
        if found:
            return found.group(1)
        return "%" if type(self._axis.get_major_formatter()).__name__ == "PercentFormatter" else None


def number_of(value: Any) -> Any:
    """Return a JSON number, or None for anything else: gaps, infinities, masked values."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return int(value) if isinstance(value, int) and abs(value) < 2**53 else None


def rounded(place: Any) -> float:
    """Return a position without its last digits, which are rounding errors."""
    return float(f"{float(place):.12g}")


def text(value: Any) -> str:
    """Return the text of a label, bounded in length."""
    return printable(plain(value if isinstance(value, str) else str(value)))[:MAX_TEXT].strip()


def _categories_of(axis: Any) -> dict[float, str]:
    """Return names by position, if the axis has names instead of numbers."""
    mapping = getattr(axis.get_units(), "_mapping", None)
    if mapping:
        return {float(place): text(name) for name, place in mapping.items()}
    if _is_date(axis) or not hasattr(axis.get_major_locator(), "locs"):  # only fixed positions have names
        return {}
    named = {
        float(place): text(tick.get_text()) for place, tick in zip(axis.get_majorticklocs(), axis.get_ticklabels())
    }
    named = {place: name for place, name in named.items() if name}
    return named if not all(_is_number(name) for name in named.values()) else {}


def _is_number(name: str) -> bool:
    try:
        float(name.replace("\N{MINUS SIGN}", "-").replace(",", "").rstrip("%"))
    except ValueError:
        return "{" in name  # mathematical text of a logarithmic axis
    return True


def _is_date(axis: Any) -> bool:
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    name = type(converter).__name__
    if "Date" in name or "Period" in name:
        return True
    return any(base.__name__ in _DATE_FORMATTERS for base in type(axis.get_major_formatter()).__mro__)
