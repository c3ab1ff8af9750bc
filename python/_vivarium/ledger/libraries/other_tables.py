"""Fingerprints and descriptions of tables of polars, pyarrow and DuckDB, if loaded; exact types only.

Tables of pyarrow and relations of DuckDB never change: their identity is their fingerprint. Those of polars change by
assignments. Nothing here starts the threads of polars, because they could cost a session its twin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from zlib import crc32

from _vivarium.values.hints import Any
from _vivarium.values.loaded import member

WHOLE_BYTES = 4 << 20  # data up to this size is read as a whole
SAMPLE_COLUMNS = 256
SAMPLE_ROWS = 64
LISTED = 64  # columns named in a description
MarkAll = Callable[[Iterable[object]], list[Any]]


def kind_of(value: object) -> str:
    """Return what kind of table or column a value is, or an empty string."""
    kind = type(value)
    for module, name in (
        *(("polars", "DataFrame"), ("polars", "LazyFrame"), ("polars", "Series")),
        *(("pyarrow", "Table"), ("pyarrow", "RecordBatch"), ("duckdb", "DuckDBPyRelation")),
    ):
        if kind is member(module, name):
            return f"{module}.{name}"
    return ""


def mark_of(value: Any, mark_all: MarkAll) -> tuple[object, ...] | None:
    """Return what identifies the data of a table of polars, or None for anything else."""
    kind = kind_of(value)
    if kind == "polars.Series":
        return value.name, *_mark_series(value, mark_all, WHOLE_BYTES)
    if kind != "polars.DataFrame":
        return None
    height, width = value.shape
    shown = range(0, width, -(-width // SAMPLE_COLUMNS) if width else 1)
    whole = WHOLE_BYTES // max(1, len(shown))
    data = tuple(part for number in shown for part in _mark_series(value.to_series(number), mark_all, whole))
    return height, width, tuple(value.columns), data


def describe(value: Any) -> str | None:
    """Return shape and columns of a table in words; None for anything else."""
    kind = kind_of(value)
    if kind == "polars.DataFrame":
        return _table(kind, value.shape, value.columns)
    if kind == "polars.LazyFrame":
        return "polars.LazyFrame, not computed yet"
    if kind == "polars.Series":
        return f"polars.Series {value.dtype} of {len(value)}" + (f": {value.name[:50]}" if value.name else "")
    if kind == "duckdb.DuckDBPyRelation":
        return f"DuckDB relation, {len(value.columns)} columns: {_listed(value.columns)}"
    return _table(kind, value.shape, value.schema.names) if kind else None


def size_of(value: Any) -> int | None:
    """Return the size of the data in bytes; None for anything else."""
    kind = kind_of(value)
    if kind in ("polars.DataFrame", "polars.Series"):
        return int(value.estimated_size())
    return int(value.nbytes) if kind.startswith("pyarrow.") else None


def _table(kind: str, shape: tuple[int, int], columns: list[str]) -> str:
    return f"{kind} {shape[0]} rows x {shape[1]} columns: {_listed(columns)}"


def _listed(columns: list[str]) -> str:
    return ", ".join(name[:50] for name in columns[:LISTED])


def _mark_series(value: Any, mark_all: MarkAll, whole_bytes: int) -> tuple[object, ...]:
    """Mark the type and the content of a column: all of it if numpy can read it in place, otherwise a sample."""
    facts = str(value.dtype), len(value)
    if member("numpy", "ndarray") is not None and not value.null_count() and value.dtype.is_numeric():
        data = value.to_numpy(allow_copy=False) if value.n_chunks() == 1 else None
        if data is not None and data.nbytes <= whole_bytes:
            return *facts, crc32(data)
    step = max(1, len(value) // SAMPLE_ROWS)
    places = [*range(0, len(value), step)][:SAMPLE_ROWS]
    ends = value.head(SAMPLE_ROWS).to_list() + value.tail(SAMPLE_ROWS).to_list()
    content = [one for place in places for one in value.slice(place, 1).to_list()]
    return *facts, *mark_all([_plain(one) for one in ends + content])


def _plain(value: object) -> object:
    """Return what stays the same as long as the cell does: most cells are new objects at each access."""
    kind = type(value)
    return value if kind in (int, float, bool, str, bytes, type(None)) else repr(value)[:1_000]
