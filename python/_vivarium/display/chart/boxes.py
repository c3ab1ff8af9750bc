"""Remembers the numbers behind box plots and pies, which matplotlib keeps only as shapes."""

from __future__ import annotations

from collections.abc import Callable

from _vivarium.values.hints import Any
from _vivarium.values.text import attempt

_BOXES, _PIES = "_box_statistics", "_pie_values"
Replace = Callable[[Any, str, Callable[[Callable[..., Any]], Callable[..., Any]]], None]


def watch(axes_class: Any, replace: Replace) -> None:
    """Make all axes remember their box plots and pies from now on."""
    replace(axes_class, "bxp", _watch_boxes)
    replace(axes_class, "pie", _watch_pies)


def boxes_of(axes: Any) -> list[tuple[list[dict[str, Any]], list[Any], bool, Any]]:
    """Return (statistics, positions, is vertical, one of the artists) of each box plot that `axes` still shows."""
    return [plot for plot in vars(axes).get(_BOXES, ()) if plot[3].axes is axes]


def pies_of(axes: Any) -> list[tuple[list[Any], list[Any]]]:
    """Return (values, wedges) of each pie that `axes` still shows; values come from the angles if unknown."""
    known = [(values, wedges) for values, wedges in vars(axes).get(_PIES, ()) if wedges and wedges[0].axes is axes]
    if known:
        return known
    wedges = [patch for patch in axes.patches if type(patch).__name__ == "Wedge"]
    return [([(wedge.theta2 - wedge.theta1) / 360 for wedge in wedges], wedges)] if wedges else []


def _watch_boxes(original: Callable[..., Any]) -> Callable[..., Any]:
    def bxp(self: Any, bxpstats: Any, *args: Any, **options: Any) -> Any:
        stats = list(bxpstats)
        drawn = original(self, stats, *args, **options)
        named = {**dict(zip(("positions", "widths", "vert"), args)), **options}
        attempt(lambda: _remember(self, _BOXES, _plot(drawn, stats, named)))
        return drawn

    return bxp


def _watch_pies(original: Callable[..., Any]) -> Callable[..., Any]:
    def pie(self: Any, x: Any, *args: Any, **options: Any) -> Any:
        drawn = original(self, x, *args, **options)
        attempt(lambda: _remember(self, _PIES, _pie(drawn, x, options)))
        return drawn

    return pie


def _plot(drawn: Any, stats: list[Any], options: dict[str, Any]) -> tuple[Any, ...]:
    vertical, positions = options.get("vert"), options.get("positions")
    if vertical is None:
        vertical = options.get("orientation") != "horizontal"
    return stats, list(range(1, len(stats) + 1) if positions is None else positions), bool(vertical), _first_of(drawn)


def _pie(drawn: Any, x: Any, options: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    data = options.get("data")
    values = data[x] if data is not None and isinstance(x, str) else x
    return list(values), list(drawn[0])


def _first_of(drawn: dict[str, list[Any]]) -> Any:
    """Return an artist that stays in the axes as long as the plot is not cleared."""
    return next(artist for part in ("boxes", "medians", "whiskers", "fliers") for artist in drawn.get(part, ()))


def _remember(axes: Any, key: str, what: tuple[Any, ...]) -> None:
    vars(axes).setdefault(key, []).append(what)
