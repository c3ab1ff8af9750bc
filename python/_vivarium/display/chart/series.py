"""Reads the series of one matplotlib plot: lines, scatters, bars, pies and boxes, with bounded points."""

from __future__ import annotations

import sys

from _vivarium.display.chart.boxes import boxes_of, pies_of
from _vivarium.display.chart.scales import Scale, number_of, rounded, text
from _vivarium.display.thinning import sample
from _vivarium.values.hints import Any

MAX_POINTS = 1_000  # of one series, and fewer in a figure that has many; more are sampled evenly
LEAST_POINTS = 2
MAX_SERIES = 100
MAX_COLOURED = 10_000  # points of a scatter whose colours are read
Series = dict[str, Any]


def share_of(lengths: list[int], total: int) -> int:
    """Return how many points each series may list if all of them together list `total`. Short ones leave room."""
    wanted = sorted(min(length, MAX_POINTS) for length in lengths)
    for index, length in enumerate(wanted):
        fair = total // (len(wanted) - index)
        if length > fair:
            return max(LEAST_POINTS, fair)
        total -= length
    return MAX_POINTS


def lengths_of(axes: Any) -> list[int]:
    """Return how many points each series of a plot will have, before any of them is read."""
    boxes = [len(one.get("fliers", ())) for plot in boxes_of(axes) for one in plot[0]]
    bars = [len(one) for one in axes.containers if type(one).__name__ == "BarContainer"]
    scatters = [len(one.get_offsets()) for one in axes.collections if type(one).__name__ == "PathCollection"]
    lines = [len(line.get_xdata(orig=False)) for line in axes.get_lines()]
    return [*boxes[:MAX_POINTS], *[*bars, *scatters, *lines][:MAX_SERIES]]


def series_of(axes: Any, x: Scale, y: Scale, most: int = MAX_POINTS) -> list[Series]:
    """Return all series of a plot, by kind, each with at most so many points."""
    legend = _Legend(axes)
    pies = [_pie(values, wedges, most) for values, wedges in pies_of(axes)]
    boxes = [_box(plot, x if plot[2] else y, legend, most) for plot in boxes_of(axes)]
    bars = [
        _bar(one, x, y, legend, most) for one in axes.containers if type(one).__name__ == "BarContainer" and len(one)
    ]
    scatters = [
        part
        for one in axes.collections
        if type(one).__name__ == "PathCollection"
        for part in _scatter(one, x, y, legend, most)
    ]
    lines = [_line(line, axes, x, y, legend, most) for line in axes.get_lines()]
    if bars or boxes:
        lines = [line for line in lines if line is None or line["label"] is not None or not _is_whisker(line)]
    return [one for one in (*pies, *boxes, *bars, *scatters, *lines) if one is not None]


class _Legend:
    """Names of series: their own, or those that a legend gives to their colours, as seaborn does."""

    def __init__(self, axes: Any) -> None:
        self._names: dict[str, str | None] = {}
        self._own = {
            id(part[0]): part.get_label() for part in axes.containers if type(part).__name__ == "ErrorbarContainer"
        }
        for legend in [axes.get_legend() or next(iter(axes.figure.legends), None)]:
            handles = getattr(legend, "legend_handles", None) or getattr(legend, "legendHandles", ())
            for handle, name in zip(handles, legend.get_texts() if legend else ()):
                colour = _colour_of(handle)
                self._names[colour] = None if colour in self._names else text(name.get_text())

    def name_of(self, artist: Any, colour: str | None = None) -> str | None:
        own = str(self._own.get(id(artist)) or artist.get_label() or "")
        if own and not own.startswith("_"):
            return text(own)
        return self._names.get(colour or _colour_of(artist))

    def names(self, colour: str) -> bool:
        return self._names.get(colour) is not None

    def is_hidden(self, artist: Any) -> bool:
        """Return whether an artist is only part of another one."""
        return artist.get_label() == "_nolegend_" and id(artist) not in self._own


def _line(line: Any, axes: Any, x: Scale, y: Scale, legend: _Legend, most: int) -> Series | None:
    xs, ys = line.get_xdata(orig=False), line.get_ydata(orig=False)
    if legend.is_hidden(line) or len(xs) == 0:
        return None
    name = legend.name_of(line)
    if line.get_transform() == axes.get_yaxis_transform(which="grid"):
        return {"type": "rule", "label": name, "orientation": "horizontal", "value": y.value(ys[0])}
    if line.get_transform() == axes.get_xaxis_transform(which="grid"):
        return {"type": "rule", "label": name, "orientation": "vertical", "value": x.value(xs[0])}
    if not line.get_transform().contains_branch(axes.transData):
        return None
    has_line = line.get_linestyle() not in ("None", "none", " ", "")
    has_marker = line.get_marker() not in ("None", "none", " ", "", None)
    return {"type": "scatter" if has_marker and not has_line else "line", "label": name, **_points(xs, ys, x, y, most)}


def _scatter(collection: Any, x: Scale, y: Scale, legend: _Legend, most: int) -> list[Series]:
    """Return one series, or one for each colour that the legend names."""
    offsets, colours = collection.get_offsets(), collection.get_facecolor()
    if len(offsets) == 0:
        return []
    name = legend.name_of(collection)
    colours = [_hex(one) for one in colours] if len(colours) <= MAX_COLOURED else []
    if len(colours) == len(offsets) > 1 and all(legend.names(one) for one in set(colours)):
        groups = [
            (legend.name_of(collection, one), offsets[[have == one for have in colours]])
            for one in dict.fromkeys(colours)
        ]
    else:
        groups = [(name, offsets)]
    return [
        {"type": "scatter", "label": label, **_points(part[:, 0], part[:, 1], x, y, most)} for label, part in groups
    ]


def _bar(container: Any, x: Scale, y: Scale, legend: _Legend, most: int) -> Series:
    bars = list(container.patches)
    vertical = getattr(container, "orientation", None) != "horizontal"
    along, across = (x, y) if vertical else (y, x)
    values = (
        container.datavalues
        if getattr(container, "datavalues", None) is not None
        else [bar.get_height() for bar in bars]
    )
    rows = [_bar_row(bar, vertical) for bar in bars]
    kept = sample(len(rows), most)
    bottoms = [across.value(rows[one][1]) for one in kept]
    series: Series = {
        "type": "bar",
        "label": legend.name_of(container, _colour_of(bars[0])),
        "orientation": "vertical" if vertical else "horizontal",
        "points": [[along.value(rounded(rows[one][0])), number_of(values[one])] for one in kept],
        "count": len(rows),
    }
    if along.kind not in ("categorical", "date"):
        series["widths"] = [number_of(rounded(rows[one][2])) for one in kept]
    if any(bottoms) and across.kind != "date":
        series["bottoms"] = bottoms
    return series


def _bar_row(bar: Any, vertical: bool) -> tuple[float, float, float]:
    """Return the middle, the bottom and the width of a bar."""
    if vertical:
        return bar.get_x() + bar.get_width() / 2, bar.get_y(), bar.get_width()
    return bar.get_y() + bar.get_height() / 2, bar.get_x(), bar.get_height()


def _pie(values: list[Any], wedges: list[Any], most: int) -> Series:
    names = [text(wedge.get_label()) for wedge in wedges]
    names = ["" if name.startswith("_") else name for name in names]
    points = [[name or None, number_of(value)] for name, value in zip(names, values)][:most]
    return {"type": "pie", "label": None, "points": points, "count": len(wedges)}


def _box(plot: tuple[Any, ...], along: Scale, legend: _Legend, most: int) -> Series:
    stats, positions, vertical, artist = plot
    parts = {"minimum": "whislo", "q1": "q1", "median": "med", "q3": "q3", "maximum": "whishi", "mean": "mean"}
    boxes = []
    for one, place in list(zip(stats, positions))[:MAX_POINTS]:
        outliers = one.get("fliers", ())
        box: dict[str, Any] = {"label": text(one.get("label") or along.value(place))}
        box.update({name: number_of(one[key]) for name, key in parts.items() if one.get(key) is not None})
        box["outliers"] = [number_of(outliers[index]) for index in sample(len(outliers), most)]
        boxes.append({**box, "outlierCount": len(outliers)})
    orientation = "vertical" if vertical else "horizontal"
    return {
        "type": "box",
        "label": legend.name_of(artist),
        "orientation": orientation,
        "boxes": boxes,
        "count": len(stats),
    }


def _points(xs: Any, ys: Any, x: Scale, y: Scale, most: int) -> dict[str, Any]:
    kept = sample(len(xs), most)
    left, right = xs[kept].tolist(), ys[kept].tolist()
    return {"points": [[x.value(one), y.value(other)] for one, other in zip(left, right)], "count": len(xs)}


def _is_whisker(line: Series) -> bool:
    """Return whether a nameless line is a short straight line along an axis, such as an error bar."""
    places = line.get("points", ())
    return line.get("count", 0) <= 8 and any(
        len({place[side] for place in places if place[side] is not None}) <= 1 for side in (0, 1)
    )


def _colour_of(artist: Any) -> str:
    """Return the main colour of an artist, or of the first bar of a container."""
    for method in (
        ("get_markerfacecolor", "get_color", "get_facecolor") if _is_marker(artist) else ("get_color", "get_facecolor")
    ):
        if hasattr(artist, method):
            colour = getattr(artist, method)()
            return _hex(colour[0] if getattr(colour, "ndim", 1) == 2 and len(colour) else colour)
    return _colour_of(artist[0]) if isinstance(artist, tuple) and artist else ""


def _is_marker(artist: Any) -> bool:
    return hasattr(artist, "get_linestyle") and artist.get_linestyle() in ("None", "none", " ", "")


def _hex(colour: Any) -> str:
    try:
        return str(sys.modules["matplotlib.colors"].to_hex(colour))
    except (ValueError, TypeError):  # not a colour
        return ""
