"""Imports the libraries that every session will find warm."""

from __future__ import annotations

import gc
import importlib
import io
import os
import sys

from _vivarium.display import fonts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # slow to load


def preload(names: list[str]) -> dict[str, str]:
    """Import each library. Returns the reason for each that could not be imported."""
    if names:
        gc.enable()  # garbage left between what stays would spread it over more pages, each of which a session copies
    failures: dict[str, str] = {}
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:
            failures[name] = f"{type(error).__name__}: {error}"
    rehearsals = (
        ("matplotlib.pyplot", _draw_once),
        ("matplotlib.font_manager", fonts.complete),  # last: drawing opens all fonts, and sessions open their own
        ("pandas", _compute_once),
    )
    for name, rehearse in rehearsals:
        if name in sys.modules:
            try:
                rehearse(sys.modules[name])
            except Exception as error:
                failures[name] = f"warm-up: {type(error).__name__}: {error}"
    if names:  # otherwise there is little to collect, and a caller waits for the first result
        gc.collect()
    gc.freeze()  # the collector must not touch, and so copy, what sessions share
    gc.enable()
    return failures


def _draw_once(pyplot: Any) -> None:
    """Draw a figure here: the first one is slow (fonts, caches), and now no session has to wait for it."""
    figure = pyplot.figure()
    pyplot.plot([1, 2])
    pyplot.title("warm")
    figure.savefig(io.BytesIO(), format="png")
    pyplot.close("all")


def _compute_once(pandas: Any) -> None:
    """Use pandas once: what it builds on first use is then shared by all sessions."""
    frame = pandas.DataFrame(
        {"key": ["a", "b"] * 50, "value": range(100), "date": pandas.date_range("2024-01-01", periods=100)}
    )
    frame["share"] = frame.value / frame.value.sum()
    frame.groupby("key").value.agg(["mean", "sum"])
    frame.merge(frame, on="value").sort_values("share_x").describe()
    frame.pivot_table(index="key", values="value")
    frame.set_index("date").value.rolling(7).mean().resample("W").sum()
    text = io.StringIO()
    frame.to_csv(text)
    pandas.read_csv(io.StringIO(text.getvalue()))
    repr(frame)


def thread_count() -> int:
    """Return the number of threads of this process; a zygote must have one."""
    return len(os.listdir("/proc/self/task"))
