"""Fingerprints and descriptions of arrays and tables of numpy and pandas, if loaded; exact types only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from zlib import crc32

from _vivarium.values.hints import Any
from _vivarium.values.loaded import member

WHOLE_BYTES = 1 << 20  # data up to this size is read as a whole
SAMPLE_ITEMS = 16_384
SAMPLE_LABELS = 64
SAMPLE_COLUMNS = 64
SAMPLE_ROWS = 256
MarkAll = Callable[[Iterable[object]], list[Any]]


def mark_of(value: object, mark_all: MarkAll) -> tuple[object, ...] | None:
    """Return what identifies the data of an array or a table, or None for anything else."""
    look = {"ndarray": _mark_array, "DataFrame": _mark_frame, "Series": _mark_series, "Index": _mark_index}.get(
        kind_of(value)
    )
    return None if look is None else look(value, mark_all)


def describe(value: Any) -> str | None:
    """Return shape and data type of an array or a table in words; None for anything else."""
    kind = kind_of(value)
    if kind == "ndarray":
        return f"ndarray {value.dtype} {value.shape}"
    if kind == "DataFrame":
        rows, columns = value.shape
        names = ", ".join(_label(name) for name in value.columns[:SAMPLE_LABELS].tolist())
        return f"DataFrame {rows} rows x {columns} columns: {names}"
    if kind == "Series":
        return f"Series {value.dtype} of {len(value)}" + (f": {_label(value.name)}" if value.name is not None else "")
    if kind == "Index":
        return f"{type(value).__name__} {value.dtype} of {len(value)}"
    return None


def size_of(value: Any) -> int | None:
    """Return the size of the data in bytes; objects inside count as references. None for anything else."""
    kind = kind_of(value)
    if kind == "ndarray":
        return int(value.nbytes)
    if kind == "DataFrame":
        return int(value.memory_usage(index=True, deep=False).sum())
    if kind == "Series":
        return int(value.memory_usage(index=True, deep=False))
    return int(value.nbytes) if kind == "Index" else None


def kind_of(value: object) -> str:
    """Return "ndarray", "DataFrame", "Series", "Index" or an empty string."""
    kind = type(value)
    if kind is member("numpy", "ndarray"):
        return "ndarray"
    for name in ("DataFrame", "Series"):
        if kind is member("pandas", name):
            return name
    for name in ("Index", "RangeIndex", "DatetimeIndex", "MultiIndex", "CategoricalIndex"):
        if kind is member("pandas", name):
            return "Index"
    return ""


def _label(label: object) -> str:
    kind = type(label)
    if kind is str or kind is int or kind is float or kind is bool:
        return str(label)[:50]
    return f"<{kind.__name__}>"


def _mark_array(value: Any, mark_all: MarkAll, whole_bytes: int = WHOLE_BYTES) -> tuple[object, ...]:
    shape = (value.shape, value.dtype.str, value.strides)
    if value.dtype.hasobject:
        flat = value.flat
        step = max(1, value.size // SAMPLE_ROWS)
        return *shape, *mark_all(flat[::step].tolist())
    if value.nbytes <= whole_bytes:
        return *shape, crc32(value.tobytes())
    data = value if value.flags.c_contiguous else value.T
    ends = ()
    if data.flags.c_contiguous:
        flat = data.reshape(-1)
        count = max(1, whole_bytes // 4 // data.itemsize)
        ends = (crc32(flat[:count].tobytes()), crc32(flat[-count:].tobytes()))
    return *shape, *ends, crc32(value[_grid(value.shape)].tobytes())


def _grid(shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Return steps along each axis that leave a bounded number of items."""
    room, steps = SAMPLE_ITEMS, []
    for size in reversed(shape):
        taken = min(size, room)
        steps.append(slice(None, None, -(-size // taken) if taken else 1))
        room = max(1, room // max(1, taken))
    return tuple(reversed(steps))


def _mark_frame(value: Any, mark_all: MarkAll) -> tuple[object, ...]:
    rows, columns = value.shape
    shown = min(columns, SAMPLE_COLUMNS)
    data = [_mark_column(value.iloc[:, number], mark_all, WHOLE_BYTES // shown) for number in range(shown)]
    return rows, columns, _mark_index(value.columns, mark_all), _mark_index(value.index, mark_all), tuple(data)


def _mark_series(value: Any, mark_all: MarkAll) -> tuple[object, ...]:
    name = tuple(mark_all([value.name]))
    return len(value), name, _mark_index(value.index, mark_all), _mark_column(value, mark_all, WHOLE_BYTES)


def _mark_column(column: Any, mark_all: MarkAll, whole_bytes: int) -> tuple[object, ...]:
    """Mark one column. Of a column that is not a numpy array inside, only a sample is converted."""
    if type(column.dtype).__module__.partition(".")[0] != "numpy":
        step = max(1, len(column) // SAMPLE_ROWS)
        return str(column.dtype), *_marks_of_labels(column.iloc[::step], mark_all)
    return _mark_array(column.to_numpy(), mark_all, whole_bytes)


def _mark_index(value: Any, mark_all: MarkAll) -> tuple[object, ...]:
    step = max(1, len(value) // SAMPLE_LABELS)
    return len(value), *_marks_of_labels(value[::step], mark_all)


def _marks_of_labels(values: Any, mark_all: MarkAll) -> list[Any]:
    """Mark labels. Dates and tuples are new objects at each access, so their content counts, not their identity."""
    made = [member("pandas", name) for name in ("Timestamp", "Timedelta", "Period", "Interval")]
    parts: list[object] = []
    for label in values.tolist():
        parts += label if type(label) is tuple else (label,)
    return mark_all([str(part) if any(type(part) is kind for kind in made) else part for part in parts])
