"""Imports the libraries that every session will find warm."""

from __future__ import annotations

import gc
import importlib
import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # which is slow to load


def preload(names: list[str]) -> dict[str, str]:
    """Import each library; what could not be imported, with the reason."""
    if names:
        gc.enable()  # garbage left between what stays would spread it over more pages, each of which a session copies
    failures: dict[str, str] = {}
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:  # noqa: BLE001 - a broken library must not cost the others
            failures[name] = f"{type(error).__name__}: {error}"
    for name, rehearse in (("matplotlib.pyplot", _draw_once), ("pandas", _compute_once)):
        if name in sys.modules:
            try:
                rehearse(sys.modules[name])
            except Exception as error:  # noqa: BLE001 - sessions work without it, only slower
                failures[name] = f"warm-up: {type(error).__name__}: {error}"
    if names:  # else there is little to collect, and somebody waits for the first result
        gc.collect()
    gc.freeze()  # the collector must not touch, and so copy, what sessions share
    gc.enable()
    return failures


def _draw_once(pyplot: Any) -> None:
    """The first figure is slow (fonts, caches): drawn here, no session pays for it."""
    figure = pyplot.figure()
    pyplot.plot([1, 2])
    pyplot.title("warm")
    figure.savefig(io.BytesIO(), format="png")
    pyplot.close("all")


def _compute_once(pandas: Any) -> None:
    """What pandas makes on first use is shared by all sessions if it is made here, and else by none."""
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
    """Threads of this process; a zygote must have one."""
    return len(os.listdir("/proc/self/task"))
