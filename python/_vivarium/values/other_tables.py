"""Reads tables of polars, pyarrow and DuckDB, if the program has loaded them; exact types only.

Of a DuckDB relation nothing is known before it runs. Only its first rows are computed here, as its `repr` does.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta

from _vivarium.values.hints import Any
from _vivarium.values.loaded import member
from _vivarium.values.shapes import Items, Pairs, Reshape, Room, Tag
from _vivarium.values.standard import duration, trusted_zone

COLUMNS_LIMIT = 2_000
COLUMN_COST = 4  # items that a column takes besides its values
COUNTED_ROWS = 1_000_000  # of a relation, which has to be run for it
_TABLES = {
    ("polars", "DataFrame"): "polars",
    ("pyarrow", "Table"): "pyarrow",
    ("pyarrow", "RecordBatch"): "pyarrow",
    ("duckdb", "DuckDBPyRelation"): "duckdb",
}
_COLUMNS = (("polars", "Series"), ("pyarrow", "ChunkedArray"), ("pyarrow", "Array"))


class OtherTable:
    """A table of one of these libraries, with what all of them can tell."""

    def __init__(self, value: Any, library: str) -> None:
        self.value = value
        self.library = library
        self.columns: list[tuple[str, str]] = []  # name and type
        if library == "polars":
            self.columns = [(name, str(kind)) for name, kind in value.schema.items()]
        elif library == "pyarrow":
            self.columns = [(field.name, str(field.type)) for field in value.schema]
        else:
            self.columns = [(name, str(kind)) for name, kind in zip(value.columns, value.types)]

    def rows(self) -> int:
        """Return the number of rows; of a relation, at most one more than are counted."""
        if self.library == "polars":
            return int(self.value.height)
        if self.library == "pyarrow":
            return int(self.value.num_rows)
        ((count,),) = self.value.limit(COUNTED_ROWS + 1).aggregate("count(*)").fetchall()
        return int(count)

    def head(self, count: int, width: int) -> list[list[object]]:
        """Return the first values of the first columns."""
        if self.library == "polars":
            part = self.value[:count, :width]
            return [_cells(part.to_series(number).to_list()) for number in range(part.width)]
        if self.library == "pyarrow":
            part = self.value.slice(0, count)
            return [_cells(part.column(number).to_pylist()) for number in range(min(width, part.num_columns))]
        rows = self.value.limit(count).fetchall()
        return [_cells([row[number] for row in rows]) for number in range(min(width, len(self.columns)))]

    def missing(self, number: int) -> int | None:
        """Return how many values of a column are missing, or None if that would have to be computed."""
        if self.library == "polars":
            return int(self.value.to_series(number).null_count())
        return int(self.value.column(number).null_count) if self.library == "pyarrow" else None

    def write(self, path: str, format: str) -> None:
        """Write all rows as CSV or Parquet, with the writer of the library itself."""
        _WRITERS[self.library, format](self.value, path)


def table_of(value: object) -> OtherTable | None:
    """Return a table of one of the libraries, or None for anything else."""
    library = library_of(value)
    return OtherTable(value, library) if library else None


def library_of(value: object) -> str:
    """Return the library of a table, or an empty string."""
    kind = type(value)
    for (module, name), library in _TABLES.items():
        if kind is member(module, name):
            return library
    return ""


def reshapes() -> dict[int, Reshape]:
    """Return the functions that reshape, by id of the type."""
    known: dict[int, Reshape] = {id(member(*key)): _table for key in _TABLES}
    known.update({id(member(*key)): _column for key in _COLUMNS})
    known.pop(id(None), None)
    return known


def _table(value: Any, room: Room) -> object:
    """Return columns by name, as of a table of pandas without labels."""
    table = table_of(value)
    if table is None:
        raise TypeError("a class of the program has methods of its own")
    rows, width = table.rows(), len(table.columns)
    fits = width * (rows + COLUMN_COST) <= room.items - COLUMN_COST and width <= COLUMNS_LIMIT
    shown = width if fits else min(width, COLUMNS_LIMIT, room.cut_items // (2 * COLUMN_COST))
    most = (room.cut_items - COLUMN_COST) // max(1, shown) - COLUMN_COST
    count = rows if fits else max(0, min(rows, most))
    pairs = [(name, values) for (name, _), values in zip(table.columns, table.head(count, shown))]
    columns = Pairs("dict", pairs, len(pairs))
    if count == rows and shown == width:
        return columns
    return Tag("truncated", {"type": "DataFrame", "shape": [rows, width], "shown": [count, shown], "value": columns})


def _column(value: Any, room: Room) -> Items:
    part = value[: room.items]
    values = part.to_list() if type(value) is member("polars", "Series") else part.to_pylist()
    return Items("list", _cells(values), len(value))


def _cells(values: list[Any]) -> list[object]:
    """Return cells in the form used inside tables: dates and durations as ISO text."""
    return [_cell(value) for value in values]


def _cell(value: Any) -> object:
    kind = type(value)
    if kind is float:
        return None if value != value else value
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is datetime:
        return value.isoformat() if trusted_zone(value.tzinfo) else value
    if kind is date or (kind is time and value.tzinfo is None):
        return value.isoformat()
    if kind is timedelta:
        return duration(((value.days * 86_400 + value.seconds) * 10**6 + value.microseconds) * 1_000)
    return value


def _write_arrow(value: Any, path: str, format: str) -> None:
    from importlib import import_module

    if type(value) is member("pyarrow", "RecordBatch"):
        value = member("pyarrow", "Table").from_batches([value])
    if format == "csv":
        import_module("pyarrow.csv").write_csv(value, path)
    else:
        import_module("pyarrow.parquet").write_table(value, path)


_WRITERS: dict[tuple[str, str], Callable[[Any, str], object]] = {
    ("polars", "csv"): lambda value, path: value.write_csv(path),
    ("polars", "parquet"): lambda value, path: value.write_parquet(path),
    ("pyarrow", "csv"): lambda value, path: _write_arrow(value, path, "csv"),
    ("pyarrow", "parquet"): lambda value, path: _write_arrow(value, path, "parquet"),
    ("duckdb", "csv"): lambda value, path: value.write_csv(path),
    ("duckdb", "parquet"): lambda value, path: value.write_parquet(path),
}
