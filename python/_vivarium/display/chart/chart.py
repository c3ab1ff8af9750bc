"""Reads the data behind a matplotlib figure, so that a page or a model need not read pixels.

`chart_of(figure)` returns, for one plot:

    {"type": "line" | "scatter" | "bar" | "pie" | "box" | "mixed" | "unknown", "title": str | None,
     "x": {"label", "unit", "scale", "limits", "ticks", "tickLabels"}, "y": {...}, "series": [...]}

and for several `{"type": "several", "title": str | None, "charts": [...]}`. `scale` is "linear", "log", "date",
"categorical" or another of matplotlib's names; dates are ISO text, gaps are None. A series has `type`, `label` and:

    line, scatter   points [[x, y], ...], count
    bar             points [[category or middle, value], ...], count, orientation, widths and bottoms where they matter;
                    the chart then has `arrangement`: "single", "grouped" or "stacked"
    pie             points [[label, value], ...], count
    box             boxes [{label, minimum, q1, median, q3, maximum, mean?, outliers, outlierCount}, ...], orientation
    rule            orientation, value (a straight line across the plot)

`count` is the number of points; at most 1,000 of a series and 20,000 of a figure are listed, evenly spread. What is not
listed is counted in `omitted`: {"points", "series", "charts"}, as far as there is any. Values of pies and boxes are
exact for plots drawn after `boxes.watch`. Without it, pies have fractions and boxes are unknown.
"""

from __future__ import annotations

import json

from _vivarium.display.budget import outline_of
from _vivarium.display.chart.scales import Scale, text
from _vivarium.display.chart.series import MAX_SERIES, lengths_of, series_of, share_of
from _vivarium.values.cost import MAX_COST, cost_of
from _vivarium.values.hints import Any

MAX_CHARTS = 50
MAX_POINTS = 20_000  # of one figure
LEAST_POINTS = 1_000  # if these take too much room, points are not the reason
MAX_BYTES = 1_000_000  # of the chart as JSON
_READABLE = ("rectilinear", "polar")


def chart_of(figure: Any) -> dict[str, Any] | None:
    """Return the data behind `figure`, or None if there is none; raises nothing but KeyboardInterrupt."""
    try:
        return _bounded(figure)
    except KeyboardInterrupt:
        raise
    except BaseException:  # artists may be classes of the program
        return None


def _bounded(figure: Any) -> dict[str, Any] | None:
    """Read with fewer points if long names, dates or many values make it too large; without any at last."""
    points = MAX_POINTS
    while True:
        chart = _chart_of(figure, points)
        if chart is None:
            return None
        text = json.dumps(chart)
        excess = max(len(text) / MAX_BYTES, cost_of(text) / MAX_COST)
        if excess <= 1:
            return chart
        if points < LEAST_POINTS:
            return outline_of(chart)
        points = int(points / excess) // 2


def _chart_of(figure: Any, points: int) -> dict[str, Any] | None:
    plots = [axes for axes in figure.axes if not _is_colour_bar(axes)]
    most = share_of([length for axes in plots[:MAX_CHARTS] for length in _lengths_of(axes)], points)
    charts = [_read(axes, most) for axes in plots[:MAX_CHARTS]]
    charts = [chart for chart in charts if chart is not None]
    if not charts:
        return None
    omitted = {
        "points": sum(_omitted_points(one) for chart in charts for one in chart.get("series", ())),
        "series": sum(chart.pop("omittedSeries", 0) for chart in charts),
        "charts": len(plots) - min(len(plots), MAX_CHARTS),
    }
    heading = figure.get_suptitle() if hasattr(figure, "get_suptitle") else ""
    whole = charts[0] if len(charts) == 1 else {"type": "several", "title": text(heading) or None, "charts": charts}
    omitted = {name: number for name, number in omitted.items() if number}
    return {**whole, "omitted": omitted} if omitted else whole


def _lengths_of(axes: Any) -> list[int]:
    try:
        return lengths_of(axes)
    except KeyboardInterrupt:
        raise
    except BaseException:  # the other plots may still be readable
        return []


def _omitted_points(series: dict[str, Any]) -> int:
    outliers = sum(box["outlierCount"] - len(box["outliers"]) for box in series.get("boxes", ()))
    return outliers + series.get("count", 0) - len(series.get("points", series.get("boxes", ())))


def _read(axes: Any, most: int) -> dict[str, Any] | None:
    if not axes.has_data():
        return None
    try:
        if axes.name not in _READABLE:
            return _unknown(axes)
        x, y = Scale(axes.xaxis), Scale(axes.yaxis)
        series = series_of(axes, x, y, most)
        if not series:
            return _unknown(axes)
        chart = {"type": _type_of(series), "title": _title_of(axes)}
        if chart["type"] != "pie":
            chart |= {"x": x.describe(), "y": y.describe()}
        if axes.name == "polar":
            chart["projection"] = "polar"
        bars = [one for one in series if one["type"] == "bar"]
        if bars:
            chart["arrangement"] = _arrangement_of(bars)
        if len(series) > MAX_SERIES:
            chart["omittedSeries"] = len(series) - MAX_SERIES
        return {**chart, "series": series[:MAX_SERIES]}
    except KeyboardInterrupt:
        raise
    except BaseException:  # the other plots may still be readable
        return {"type": "unknown", "title": None}


def _unknown(axes: Any) -> dict[str, Any]:
    kinds = dict.fromkeys(type(one).__name__ for one in (*axes.images, *axes.collections, *axes.patches, *axes.lines))
    return {"type": "unknown", "title": _title_of(axes), "artists": list(kinds)[:10]}


def _type_of(series: list[dict[str, Any]]) -> str:
    types = list(dict.fromkeys(one["type"] for one in series if one["type"] != "rule"))
    return "mixed" if len(types) > 1 else types[0] if types else "line"


def _arrangement_of(bars: list[dict[str, Any]]) -> str:
    if len(bars) == 1:
        return "single"
    return "stacked" if any("bottoms" in one for one in bars) else "grouped"


def _title_of(axes: Any) -> str | None:
    titles = (text(axes.get_title(loc=place)) for place in ("center", "left", "right"))
    return next((title for title in titles if title), None)


def _is_colour_bar(axes: Any) -> bool:
    return axes.get_label() == "<colorbar>" or hasattr(axes, "_colorbar")
