"""Reshapes tables, columns and scalars of pandas for JSON, if the program has loaded pandas."""

from __future__ import annotations

from datetime import datetime

from _vivarium.values.hints import Any
from _vivarium.values.loaded import member
from _vivarium.values.shapes import Items, Pairs, Reshape, Room, Tag, attributes_of, mro_of, package_of
from _vivarium.values.standard import duration, moment, trusted_zone

COLUMNS_LIMIT = 2_000
COLUMN_COST = 4  # items that a column takes besides its values
_LIBRARIES = ("pandas", "numpy")


def reshapes() -> dict[int, Reshape]:
    """Return the functions that reshape, by id of the type; empty without pandas."""
    if type(member("pandas", "DataFrame")) is not type:
        return {}
    found = {
        "DataFrame": _frame,
        "Series": _series,
        "Index": _index,
        "Categorical": _categorical,
        "Timestamp": _timestamp,
        "Timedelta": _timedelta,
        "Period": _period,
        "Interval": _interval,
    }
    known: dict[int, Reshape] = {id(member("pandas", name)): reshape for name, reshape in found.items()}
    known[id(member("pandas.api.extensions", "ExtensionArray"))] = _extension
    for name in ("NaT", "NA"):
        known[id(type(member("pandas", name)))] = _missing
    known.pop(id(None), None)
    return known


def is_frame(value: object) -> bool:
    """Return whether a value is a DataFrame or of a derived class."""
    frame = member("pandas", "DataFrame")
    return type(frame) is type and any(parent is frame for parent in mro_of(type(value)))


def base_frame(value: Any) -> Any:
    """Return a plain DataFrame on the same data, without the methods of a derived class."""
    return _rebase("DataFrame", value)


def has_labels(index: Any) -> bool:
    """Return whether an index holds more than row numbers."""
    return index.nlevels > 1 or index.name is not None or getattr(index.dtype, "kind", "") not in "iu"


def values_of(column: Any, count: int) -> object:
    """Return the first values of a plain Series or Index: missing ones as None, dates and durations as ISO text."""
    if package_of(type(column.dtype)) not in _LIBRARIES:
        return column.array  # of an unknown library, and encoded as such
    if len(column) > count:
        column = column.iloc[:count] if type(column) is member("pandas", "Series") else column[:count]
    return [_cell(item) for item in column.tolist()]


def _rebase(name: str, value: Any) -> Any:
    base = member("pandas", name)
    found = attributes_of(value)
    manager: Any = found.get("_mgr")
    if package_of(type(manager)) != "pandas":
        raise TypeError("a table without data")
    plain = base._from_mgr(manager, manager.axes) if hasattr(base, "_from_mgr") else base(manager)
    if name == "Series":
        object.__setattr__(plain, "_name", found.get("_name"))
    return plain


def _cell(item: Any) -> object:
    """Return a cell of a table in the form used inside tables."""
    kind = type(item)
    if kind is float:
        return None if item != item else item
    if kind is str or kind is int or kind is bool:
        return item
    if kind is member("pandas", "Timestamp"):
        return item.isoformat() if trusted_zone(datetime.tzinfo.__get__(item)) else item  # type: ignore[attr-defined]
    if kind is member("pandas", "Timedelta"):
        return duration(_nanoseconds(item))
    if kind is tuple:  # a label of several levels
        return [_cell(part) for part in item[:COLUMNS_LIMIT]]
    return None if item is member("pandas", "NaT") or item is member("pandas", "NA") else item


def _frame(value: Any, room: Room) -> object:
    """Return columns by name, with row labels beside them."""
    frame = base_frame(value)
    rows, width = frame.shape
    labelled = has_labels(frame.index)
    fits = (width + labelled) * (rows + COLUMN_COST) <= room.items - COLUMN_COST and width <= COLUMNS_LIMIT
    shown = width if fits else min(width, COLUMNS_LIMIT, room.cut_items // (2 * COLUMN_COST))
    most = (room.cut_items - COLUMN_COST) // max(1, shown + labelled) - COLUMN_COST
    count = rows if fits else max(0, min(rows, most))
    part = frame.iloc[:count, :shown]
    pairs = [(_cell(name), values_of(column, count)) for name, column in part.items()]
    columns = Pairs("dict", pairs, len(pairs))
    index = {"index": values_of(frame.index, count)} if labelled else {}
    if count < rows or shown < width:
        return Tag(
            "truncated",
            {"type": "DataFrame", "shape": [rows, width], "shown": [count, shown], **index, "value": columns},
        )
    return Tag("DataFrame", {**index, "value": columns}) if labelled else columns


def _series(value: Any, room: Room) -> object:
    """Return the values, or a tag with values and labels if the labels are more than row numbers."""
    series = _rebase("Series", value)
    size = len(series)
    if not has_labels(series.index):
        return _column(series, size, room)
    count = size if size * 2 + COLUMN_COST <= room.items else max(0, room.cut_items - COLUMN_COST) // 2
    fields = {"name": series.name, "index": values_of(series.index, count), "value": values_of(series, count)}
    return (
        Tag("Series", fields)
        if count == size
        else Tag("truncated", {"type": "Series", "length": size, "shown": count, **fields})
    )


def _column(column: Any, size: int, room: Room) -> object:
    values = values_of(column, room.items)
    return Items("list", values, size) if type(values) is list else values


def _index(value: Any, room: Room) -> object:
    _refuse_strangers(value)
    return _column(value, len(value), room)


def _extension(value: Any, room: Room) -> object:
    _refuse_strangers(value)
    return _column(member("pandas", "Series")(value[: room.items], copy=False), len(value), room)


def _categorical(value: Any, room: Room) -> Tag:
    _refuse_strangers(value)
    categories = _column(value.categories, len(value.categories), room)
    return Tag("categorical", {"categories": categories, "ordered": value.ordered, "value": _extension(value, room)})


def _refuse_strangers(value: object) -> None:
    if package_of(type(value)) != "pandas":
        raise TypeError("a class of the program has methods of its own")


def _timestamp(value: Any, _: Room) -> Tag:
    zone = datetime.tzinfo.__get__(value)  # type: ignore[attr-defined]
    if not trusted_zone(zone):
        raise TypeError("a time zone of the program has methods of its own")
    return moment("datetime", member("pandas", "Timestamp").isoformat(value), zone)


def _timedelta(value: Any, _: Room) -> Tag:
    return Tag("timedelta", {"value": duration(_nanoseconds(value))})


def _nanoseconds(value: Any) -> int:
    seconds = value.days * 86_400 + value.seconds
    return (seconds * 10**6 + value.microseconds) * 1_000 + value.nanoseconds


def _period(value: Any, _: Room) -> Tag:
    _refuse_strangers(value)
    return Tag("period", {"value": str(value), "freq": value.freqstr})


def _interval(value: Any, _: Room) -> Tag:
    _refuse_strangers(value)
    return Tag("interval", {"left": value.left, "right": value.right, "closed": value.closed})


def _missing(value: object, _: Room) -> Tag:
    return Tag("missing", {"value": "NaT" if value is member("pandas", "NaT") else "NA"})
