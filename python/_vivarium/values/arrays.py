"""Reshapes arrays and scalars of numpy for JSON, if the program has loaded numpy."""

from __future__ import annotations

from _vivarium.values.hints import Any
from _vivarium.values.loaded import member
from _vivarium.values.shapes import Pairs, Reshape, Room, Tag, attributes_of, mro_of

NATIVE = "biufUS"  # kinds of content that need no tag
DTYPE_LIMIT = 200
ITEM_BYTES = 16 << 20  # content that is turned into Python objects at once


def reshapes() -> dict[int, Reshape]:
    """Return the functions that reshape, by id of the type; empty without numpy."""
    array, scalar = member("numpy", "ndarray"), member("numpy", "generic")
    return {id(array): _array, id(scalar): _scalar} if type(array) is type and type(scalar) is type else {}


def _array(value: Any, room: Room) -> object:
    """Return nested lists, with a tag if the lists alone do not say what the array is."""
    base = member("numpy", "ndarray")
    data = base.view(value, base)
    fits = _count(data.shape) <= room.items and data.nbytes <= ITEM_BYTES
    part = data if fits else data[_corner(data, room.cut_items)]
    values = _values(part, _mask_of(value, data, part.shape))
    fields = {"dtype": str(data.dtype)[:DTYPE_LIMIT], "shape": list(data.shape)}
    if part.shape != data.shape:
        return Tag("truncated", {"type": "ndarray", **fields, "shown": list(part.shape), "value": values})
    return values if data.dtype.kind in NATIVE else Tag("ndarray", {**fields, "value": values})


def _count(shape: tuple[int, ...]) -> int:
    """Return the number of lists and values in an array written as nested lists."""
    total, level = 0, 1
    for size in shape:
        level *= size
        total += level
    return total


def _corner(data: Any, budget: int) -> tuple[slice, ...]:
    """Return the first part along each axis, such that the whole stays within the budget."""
    budget = min(budget - 2 * data.ndim, ITEM_BYTES // max(1, data.itemsize))  # the two shapes take space as well
    taken: list[slice] = []
    for axis, size in enumerate(data.shape):
        each = 1 + _count(data.shape[axis + 1 :])
        if budget >= each:
            return *taken, slice(min(size, budget // each))
        taken.append(slice(1 if budget > 0 else 0))
        budget -= 1
    return tuple(taken)


def _mask_of(value: Any, data: Any, shape: tuple[int, ...]) -> Any:
    """Return which values of a masked array are missing, or None."""
    masked = member("numpy.ma", "MaskedArray")
    if masked is None or not any(parent is masked for parent in mro_of(type(value))):
        return None
    mask = attributes_of(value).get("_mask")
    if type(mask) is not type(data) or mask.shape != data.shape or mask.dtype.kind != "b":  # type: ignore[union-attr]
        return None
    return mask[tuple(slice(size) for size in shape)]  # type: ignore[index]


def _values(part: Any, mask: Any) -> object:
    """Return an array as nested lists; missing values become None."""
    kind = part.dtype.kind
    if kind == "M":
        text = member("numpy", "datetime_as_string")(part)
        mask = _missing(part, mask)
        part = member("numpy", "asarray")(text)
    elif kind == "m":
        mask = _missing(part, mask)
        part = part.astype("int64")
    elif kind == "V" and part.dtype.names is not None:
        return _records(part.tolist(), part.dtype.names, part.ndim)
    if mask is not None and mask.any():
        part = part.astype(object)
        part[mask] = None
    return part.tolist()


def _missing(part: Any, mask: Any) -> Any:
    missing = member("numpy", "isnat")(part)
    return missing if mask is None else missing | mask


def _records(values: Any, names: tuple[str, ...], depth: int) -> object:
    if depth > 0:
        return [_records(item, names, depth - 1) for item in values]
    return Pairs("dict", list(zip(names, values)), len(names))


def _scalar(value: Any, _: Room) -> object:
    generic = member("numpy", "generic")
    dtype = generic.dtype.__get__(value)
    if dtype.kind in "Mm":
        array = member("numpy", "asarray")(value)
        unit, count = member("numpy", "datetime_data")(dtype)
        fields = {"value": _values(array, None), "unit": unit if count == 1 else f"{count}{unit}"}
        return Tag("datetime64" if dtype.kind == "M" else "timedelta64", fields)
    if dtype.char in "gG":
        name = "longdouble" if dtype.char == "g" else "clongdouble"
        return Tag(name, {"value": member("numpy", name).__str__(value)})
    item = generic.item(value)
    return Pairs("dict", list(zip(dtype.names, item)), len(item)) if dtype.names is not None else item
