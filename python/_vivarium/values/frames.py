"""Summarizes the tables of a run, of pandas and other libraries, and writes a whole table to a file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from importlib import import_module

from _vivarium.values.encode import encode_value
from _vivarium.values.hints import Any
from _vivarium.values.loaded import member
from _vivarium.values.other_tables import COUNTED_ROWS, OtherTable, library_of, table_of
from _vivarium.values.shapes import package_of
from _vivarium.values.tables import base_frame, has_labels, is_frame, values_of
from _vivarium.values.text import printable, text_of, type_name

FRAMES_LIMIT = 20
COLUMNS_LIMIT = 200  # columns described
PREVIEW_ROWS = 5
PREVIEW_COLUMNS = 20
CELL_BYTES = 400
NAME_LIMIT = 200
REPR_LIMIT = 8_000  # sixty rows of eighty characters, with some room for wide characters
COUNTED_CELLS = 10_000_000  # cells checked for missing values, in all tables together
_NEVER_MISSING = "biu"  # kinds of content
# The defaults of pandas in a program. 0 columns: as many as fit the width.
_DISPLAY = {
    "max_rows": 60,
    "min_rows": 10,
    "max_columns": 0,
    "max_colwidth": 50,
    "width": 80,
    "show_dimensions": "truncate",
}


def summarize_frames(namespace: dict[str, object], names: Iterable[str]) -> list[dict[str, object]]:
    """Describe the tables among the named variables; `note` says what was left out. Single columns do not count."""
    budget = [COUNTED_CELLS]
    found: list[dict[str, object]] = []
    for name in names:
        value = namespace.get(name)
        if is_table(value) and len(found) < FRAMES_LIMIT:
            found.append(_summary(name, value, budget))
    return found


def is_table(value: object) -> bool:
    """Return whether a value is a table of a known library."""
    return is_frame(value) or library_of(value) != ""


def export_frame(namespace: dict[str, object], name: str, path: str, format: str) -> str | None:
    """Write the table of this name to a file. On failure, return what is wrong and what to do."""
    try:
        _write_frame(namespace, name, path, format)
    except BaseException as error:  # a table may run code of the program
        return text_of(error, 1_000, as_str=True) or type_name(error)
    return None


def _write_frame(namespace: dict[str, object], name: str, path: str, format: str) -> None:
    value = namespace.get(name)
    if not is_table(value):
        tables = [known for known, one in list(namespace.items()) if is_table(one)][:20]
        there = f"There are: {', '.join(tables)}." if tables else "There is none."
        raise ValueError(f'"{name}" is not a DataFrame of this session. {there}')
    os.makedirs(os.path.dirname(path), exist_ok=True)
    other = table_of(value)
    if other is not None:
        other.write(path, "parquet" if format == "parquet" else "csv")
        return
    (frame_as_parquet if format == "parquet" else frame_as_csv)(value, path)


def frame_as_csv(frame: object, path: str) -> None:
    """Write all rows as CSV in UTF-8; row labels become columns unless they are plain row numbers."""
    table = _table_of(frame)
    table.to_csv(path, index=has_labels(table.index), encoding="utf-8", errors="replace")


def frame_as_parquet(frame: object, path: str) -> None:
    """Write all rows as Parquet. If that is impossible, raises ValueError with what to do instead."""
    table = _table_of(frame)
    try:
        import_module("pyarrow")
    except ImportError as error:
        raise ValueError(
            "Parquet needs pyarrow, which is not installed here. Ask for CSV, or install pyarrow."
        ) from error
    table = table.set_axis(_column_texts(table.columns.tolist()), axis=1)
    try:
        table.to_parquet(path, engine="pyarrow", index=has_labels(table.index))
    except (ValueError, TypeError, NotImplementedError) as error:
        reason = text_of(error, 300, as_str=True)
        raise ValueError(
            f"Parquet cannot hold this table: {reason}. Ask for CSV, or give each column values of one type."
        ) from error


def _summary(name: str, value: object, budget: list[int]) -> dict[str, object]:
    """Describe one table, or say why that failed."""
    summary: dict[str, object] = {"name": printable(name)[:NAME_LIMIT], "type": type_name(value)}
    try:
        other = table_of(value)
        if other is not None:
            return {**summary, **_summary_of_other(other)}
        frame = base_frame(value)
        rows, width = frame.shape
        summary |= {"rows": int(rows), "columnCount": int(width)}
        columns, notes = _columns_of(frame, budget)
        part = frame.iloc[:PREVIEW_ROWS, :PREVIEW_COLUMNS]
        summary |= {"columns": columns, "preview": _rows_of(part), "repr": _repr_of(frame)}
        if has_labels(frame.index):
            summary["index"] = [_cell(label) for label in values_of(part.index, PREVIEW_ROWS)]  # type: ignore[union-attr]
        return {**summary, "note": "; ".join(notes)} if notes else summary
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a cell of the program may raise anything
        blank = {"rows": 0, "columnCount": 0, "columns": [], "preview": [], "repr": f"<{type_name(value)} object>"}
        return {**blank, **summary, "note": f"no summary: {type_name(error)}"}


def _summary_of_other(table: OtherTable) -> dict[str, object]:
    """Describe a table of another library than pandas."""
    width, rows = len(table.columns), table.rows()
    columns = [
        {"name": _label(name), "dtype": kind[:NAME_LIMIT], "missing": table.missing(number)}
        for number, (name, kind) in enumerate(table.columns[:COLUMNS_LIMIT])
    ]
    notes = [f"{width - COLUMNS_LIMIT} more columns"] if width > COLUMNS_LIMIT else []
    if table.library == "duckdb":
        notes.append("missing values of a relation are not counted")
        notes += [f"it has more than {COUNTED_ROWS} rows"] if rows > COUNTED_ROWS else []
    cells = table.head(PREVIEW_ROWS, PREVIEW_COLUMNS)
    return {
        "rows": rows,
        "columnCount": width,
        "columns": columns,
        "preview": [[_cell(item) for item in row] for row in zip(*cells)],
        "repr": text_of(table.value, REPR_LIMIT),
        **({"note": "; ".join(notes)} if notes else {}),
    }


def _columns_of(frame: Any, budget: list[int]) -> tuple[list[dict[str, object]], list[str]]:
    """Return name, type and number of missing values of each column, and what was left out."""
    width = frame.shape[1]
    columns: list[dict[str, object]] = []
    for label, column in frame.iloc[:, :COLUMNS_LIMIT].items():
        columns.append(
            {"name": _label(label), "dtype": str(column.dtype)[:NAME_LIMIT], "missing": _missing(column, budget)}
        )
    notes = [f"{width - COLUMNS_LIMIT} more columns"] if width > COLUMNS_LIMIT else []
    if any(column["missing"] is None for column in columns):
        notes.append("missing values of large columns not counted")
    return columns, notes


def _missing(column: Any, budget: list[int]) -> int | None:
    """Return how many values are missing, or None once enough cells were checked."""
    if package_of(type(column.dtype)) == "numpy" and column.dtype.kind in _NEVER_MISSING:
        return 0
    if len(column) > budget[0]:
        return None
    budget[0] -= len(column)
    return int(column.isna().sum())


def _rows_of(part: Any) -> list[list[object]]:
    """Return the rows of a small table as lists of cells."""
    columns = [values_of(column, PREVIEW_ROWS) for _, column in part.items()]
    cells = [column if type(column) is list else [f"<{type_name(column)}>"] * len(part) for column in columns]
    return [[_cell(item) for item in row] for row in zip(*cells)]


def _cell(value: object) -> object:
    """Return a short JSON form of a value."""
    return json.loads(encode_value(value, max_items=20, max_depth=3, max_bytes=CELL_BYTES))


def _repr_of(frame: Any) -> str:
    """Return `repr(frame)` with default options: the program may have asked for all rows."""
    options = [part for name, setting in _DISPLAY.items() for part in (f"display.{name}", setting)]
    with member("pandas", "option_context")(*options):
        return text_of(frame, REPR_LIMIT)


def _label(label: object) -> str:
    """Return the name of a column as text."""
    return printable(label)[:NAME_LIMIT] if type(label) is str else text_of(label, NAME_LIMIT, as_str=True)


def _table_of(frame: object) -> Any:
    if not is_frame(frame):
        raise ValueError(f"This is no DataFrame but {type_name(frame)}.")
    return base_frame(frame)


def _column_texts(labels: list[object]) -> list[str]:
    """Return a different text for each column, as Parquet requires."""
    texts: list[str] = []
    taken: set[str] = set()
    for label in labels:
        parts = label if type(label) is tuple else (label,)
        text = name = ".".join(_label(part) for part in parts if not (type(part) is str and part == ""))
        number = 1
        while name in taken:
            number += 1
            name = f"{text}.{number}"
        taken.add(name)
        texts.append(name)
    return texts
