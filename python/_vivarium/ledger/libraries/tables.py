"""Fingerprints and descriptions of arrays and tables of numpy and pandas, if loaded; exact types only.

Tables are read through their blocks, which takes a tenth of the time of the public methods. Where a version of pandas
has other parts than expected, the public methods are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from zlib import crc32

from _vivarium.ledger.libraries import other_tables
from _vivarium.values.hints import Any
from _vivarium.values.loaded import member
from _vivarium.values.shapes import package_of

WHOLE_BYTES = 4 << 20  # data up to this size is read as a whole, which takes a millisecond
LABEL_BYTES = 1 << 20
SAMPLE_ITEMS = 16_384
SAMPLE_LABELS = 64
SAMPLE_COLUMNS = 256
SAMPLE_ROWS = 256
MarkAll = Callable[[Iterable[object]], list[Any]]
MAX_BASES = 8  # views of views


def mark_of(value: object, mark_all: MarkAll, seen: set[int]) -> tuple[object, ...] | None:
    """Return what identifies the data of an array or a table, or None for anything else.

    Adds to `seen` the ids of the objects that own the data: two values that share one of them share data.
    """
    look = {"ndarray": _mark_array, "DataFrame": _mark_frame, "Series": _mark_series, "Index": _mark_index}.get(
        kind_of(value)
    )
    if look is None:
        found = other_tables.mark_of(value, mark_all)
        if found is not None:
            seen.add(id(value))
        return found
    seen.update(owners_of(value))
    return look(value, mark_all)


def owners_of(value: Any) -> list[int]:
    """Return the ids of the objects in which the data of an array or a table are."""
    owners = [id(value)]
    if type(value) is member("numpy", "ndarray"):
        data = [value]
    else:
        data = [block.values for block in getattr(getattr(value, "_mgr", None), "blocks", ())]
    for one in data:
        for _ in range(MAX_BASES):
            owners.append(id(one))
            one = base_of(one)
            if one is None:
                break
    return owners


def base_of(value: Any) -> object | None:
    """Return what an array or a memoryview takes its data from, or None."""
    if type(value) is member("numpy", "ndarray"):
        return value.base
    return value.obj if type(value) is memoryview else None


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
    return other_tables.describe(value)


def size_of(value: Any) -> int | None:
    """Return the size of the data in bytes; objects inside count as references. None for anything else."""
    kind = kind_of(value)
    if kind == "ndarray":
        return int(value.nbytes)
    if kind == "DataFrame":
        return int(value.memory_usage(index=True, deep=False).sum())
    if kind == "Series":
        return int(value.memory_usage(index=True, deep=False))
    return int(value.nbytes) if kind == "Index" else other_tables.size_of(value)


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


def _mark_array(value: Any, mark_all: MarkAll) -> tuple[object, ...]:
    return value.strides, *_mark_data(value, mark_all, WHOLE_BYTES)


def _mark_data(value: Any, mark_all: MarkAll, whole_bytes: int) -> tuple[object, ...]:
    """Mark the content of an array, however it lies in memory."""
    shape = (value.shape, value.dtype.str)
    if value.dtype.hasobject:
        step = max(1, value.size // SAMPLE_ROWS)
        return *shape, *mark_all(value.flat[::step].tolist())
    if value.nbytes <= whole_bytes:
        return *shape, _checksum(value)
    data = value if value.flags.c_contiguous else value.T
    ends = ()
    if data.flags.c_contiguous:
        flat = data.reshape(-1)
        count = max(1, whole_bytes // 4 // data.itemsize)
        ends = (_checksum(flat[:count]), _checksum(flat[-count:]))
    return *shape, *ends, _checksum(value[_grid(value.shape)])


def _checksum(value: Any) -> int:
    # Dates and some records have no buffer of their own.
    if value.flags.c_contiguous and value.size and value.dtype.kind in "biufc":
        return crc32(value)
    return crc32(value.tobytes())


def _grid(shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Return steps along each axis that leave a bounded number of items."""
    room, steps = SAMPLE_ITEMS, []
    for size in reversed(shape):
        taken = min(size, room)
        steps.append(slice(None, None, -(-size // taken) if taken else 1))
        room = max(1, room // max(1, taken))
    return tuple(reversed(steps))


def _mark_frame(value: Any, mark_all: MarkAll) -> tuple[object, ...]:
    rows, width = value.shape
    step = -(-width // SAMPLE_COLUMNS) if width else 1
    shown = range(0, width, step)
    whole_bytes = WHOLE_BYTES // max(1, len(shown))
    columns = _columns_of(value, shown)
    data = tuple(_mark_column(column, mark_all, whole_bytes) for column in columns)
    return rows, width, _mark_index(value.columns, mark_all), _mark_index(value.index, mark_all), data


def _columns_of(value: Any, shown: range) -> list[Any]:
    """Return the data of some columns. Which block holds a column may change while its content stays."""
    try:
        manager = value._mgr
        blocks, numbers, places = manager.blocks, manager.blknos, manager.blklocs
        data = [blocks[numbers[number]].values for number in shown]
        return [one[places[number]] if one.ndim == 2 else one for one, number in zip(data, shown)]
    except (AttributeError, IndexError, TypeError):  # another version of pandas
        return [value.iloc[:, number].array for number in shown]


def _mark_series(value: Any, mark_all: MarkAll) -> tuple[object, ...]:
    name = tuple(mark_all([value.name]))
    data = _mark_column(value.array, mark_all, WHOLE_BYTES)
    return len(value), name, _mark_index(value.index, mark_all), data


def _mark_column(column: Any, mark_all: MarkAll, whole_bytes: int) -> tuple[object, ...]:
    """Mark the data of one column. Of those that are neither numpy nor Arrow inside, only a sample is converted."""
    if type(column) is member("numpy", "ndarray"):
        return _mark_data(column, mark_all, whole_bytes)
    if package_of(type(column)) != "pandas":  # its methods are those of another library, or of the program
        return id(type(column)), id(column)
    name = str(column.dtype)
    for inside in ("_ndarray", "_codes"):  # of dates and numbers, and of categories
        data = getattr(column, inside, None)
        if type(data) is member("numpy", "ndarray"):
            labels = _mark_index(column.categories, mark_all) if inside == "_codes" else ()
            return name, labels, *_mark_data(data, mark_all, whole_bytes)
    buffers = _arrow_buffers(getattr(column, "_pa_array", None))
    if buffers and sum(buffer.size for buffer in buffers) <= whole_bytes:
        return name, len(column), *[crc32(buffer) for buffer in buffers]
    step = max(1, len(column) // SAMPLE_ROWS)
    return name, len(column), *_marks_of_labels(column[::step], mark_all)


def _arrow_buffers(value: Any) -> list[Any]:
    """Return the buffers of an Arrow array, or none if it is a part of a larger one."""
    if type(value) is not member("pyarrow", "ChunkedArray") or any(chunk.offset for chunk in value.chunks):
        return []
    return [buffer for chunk in value.chunks for buffer in chunk.buffers() if buffer is not None]


def _mark_index(value: Any, mark_all: MarkAll) -> tuple[object, ...]:
    if type(value) is member("pandas", "RangeIndex"):
        return value.start, value.stop, value.step
    if type(value) is not member("pandas", "MultiIndex"):
        return (*mark_all([value.name]), *_mark_column(value.array, mark_all, LABEL_BYTES))
    step = max(1, len(value) // SAMPLE_LABELS)
    return len(value), *_marks_of_labels(value[::step], mark_all)


def _marks_of_labels(values: Any, mark_all: MarkAll) -> list[Any]:
    """Mark labels. Dates and tuples are new objects at each access, so their content counts, not their identity."""
    made = [member("pandas", name) for name in ("Timestamp", "Timedelta", "Period", "Interval")]
    parts: list[object] = []
    for label in values.tolist():
        parts += label if type(label) is tuple else (label,)
    return mark_all([str(part) if any(type(part) is kind for kind in made) else part for part in parts])
