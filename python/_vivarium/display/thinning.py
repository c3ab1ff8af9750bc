"""Makes the JSON of a plotly figure smaller: long arrays keep evenly spread values, with the first and the last."""

from __future__ import annotations

import base64
import json
import math

from _vivarium.values.hints import Any

LARGEST_PARSED = 100_000_000  # characters; parsing takes several times as much memory
SHORT = 100  # arrays up to this length are kept as they are
ATTEMPTS = 3
# Their arrays refer to each other by name or position.
_LINKED = ("sankey", "sunburst", "treemap", "icicle", "parcats", "mesh3d")


def thin(text: str, limit: int) -> tuple[str, int, int] | None:
    """Return the JSON within `limit` characters, the number of points it shows and that of all; None if impossible.

    Raises ValueError for arrays that it cannot read.
    """
    if len(text) > LARGEST_PARSED:
        return None
    share = 0.8 * limit / len(text)
    for _ in range(ATTEMPTS):
        figure = json.loads(text)
        counts = [_thin_trace(trace, share) for trace in figure.get("data", ()) if isinstance(trace, dict)]
        kept, total = (sum(column) for column in zip(*counts)) if counts else (0, 0)
        _note(figure, total - kept)
        smaller = json.dumps(figure, separators=(",", ":"))
        if len(smaller) <= limit:
            return smaller, kept, total
        share *= 0.8 * limit / len(smaller)
    return None


def sample(count: int, most: int) -> list[int]:
    """Return at most `most` evenly spread indices, including the first and the last."""
    if count <= most:
        return list(range(count))
    return [index * (count - 1) // (most - 1) for index in range(most)]


def _thin_trace(trace: dict[str, Any], share: float) -> tuple[int, int]:
    """Thin every array of a trace in the same way, so that they stay aligned. Returns points kept, and all."""
    if trace.get("type") in _LINKED:
        return 0, 0
    widths = [_shape(value)[1] for value in trace.values()]
    if max(widths, default=0) > SHORT:
        share = math.sqrt(share)  # a grid loses rows and columns
    longest = 0, 0
    for name, value in trace.items():
        trace[name] = _thinned(value, share)
        longest = max(longest, (math.prod(_shape(value)), math.prod(_shape(trace[name]))))
    return longest[1], longest[0]


def _thinned(value: Any, share: float) -> Any:
    if isinstance(value, dict):
        if "bdata" in value:
            return _thin_packed(value, share)
        return {name: _thinned(part, share) for name, part in value.items()}
    if not isinstance(value, list):
        return value
    kept = [value[index] for index in sample(len(value), _most(len(value), share))]
    return [_thinned(one, share) for one in kept] if kept and isinstance(kept[0], (list, dict)) else kept


def _thin_packed(array: dict[str, Any], share: float) -> dict[str, Any]:
    """Thin an array of numbers in base64, which has one dimension or two."""
    width = int(array["dtype"][-1])
    rows, columns = _shape(array)
    content = base64.b64decode(array["bdata"])
    kept_rows, kept_columns = sample(rows, _most(rows, share)), sample(columns, _most(columns, share))
    places = [(row * columns + column) * width for row in kept_rows for column in kept_columns]
    packed = base64.b64encode(b"".join([content[place : place + width] for place in places])).decode()
    shape = {"shape": f"{len(kept_rows)}, {len(kept_columns)}"} if "," in str(array.get("shape", "")) else {}
    return {**array, **shape, "bdata": packed}


def _shape(value: Any) -> tuple[int, int]:
    """Return the rows and columns of an array; one column for a plain one, and 0 rows for anything else."""
    if isinstance(value, list):
        return len(value), len(value[0]) if value and isinstance(value[0], list) else 1
    if not isinstance(value, dict) or "bdata" not in value:
        return 0, 1
    sizes = [int(size) for size in str(value["shape"]).split(",")] if "shape" in value else []
    if len(sizes) > 2:
        raise ValueError("an array of more than two dimensions")
    if len(sizes) == 2:
        return sizes[0], sizes[1]
    packed = value["bdata"]
    return (len(packed) * 3 // 4 - packed[-2:].count("=")) // int(value["dtype"][-1]), 1


def _most(count: int, share: float) -> int:
    return count if count <= SHORT else max(2, min(count, math.ceil(count * share)))


def _note(figure: dict[str, Any], omitted: int) -> None:
    """Say in the figure itself how many points are missing."""
    layout = figure.setdefault("layout", {})
    meta = layout.get("meta")
    if meta is None or isinstance(meta, dict):
        layout["meta"] = {**(meta or {}), "omittedPoints": omitted}
