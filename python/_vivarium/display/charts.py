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

`count` is the number of points; at most 1,000 of a series are listed, evenly spread. Values of pies and boxes are
exact for plots drawn after `boxes.watch`. Without it, pies have fractions and boxes are unknown.
"""

from __future__ import annotations

from _vivarium.display.scales import Scale, text
from _vivarium.display.series import series_of
from _vivarium.values.hints import Any

MAX_CHARTS = 50
_READABLE = ("rectilinear", "polar")


def chart_of(figure: Any) -> dict[str, Any] | None:
    """Return the data behind `figure`, or None if there is none; raises nothing but KeyboardInterrupt."""
    try:
        charts = [_read(axes) for axes in list(figure.axes)[:MAX_CHARTS] if not _is_colour_bar(axes)]
        charts = [chart for chart in charts if chart is not None]
        if len(charts) <= 1:
            return charts[0] if charts else None
        heading = figure.get_suptitle() if hasattr(figure, "get_suptitle") else ""
        return {"type": "several", "title": text(heading) or None, "charts": charts}
    except KeyboardInterrupt:
        raise
    except BaseException:  # artists may be classes of the program
        return None


def _read(axes: Any) -> dict[str, Any] | None:
    if not axes.has_data():
        return None
    try:
        if axes.name not in _READABLE:
            return _unknown(axes)
        x, y = Scale(axes.xaxis), Scale(axes.yaxis)
        series = series_of(axes, x, y)
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
        return {**chart, "series": series}
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
