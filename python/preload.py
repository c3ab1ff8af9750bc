"""Imports the libraries that every session will find warm."""

from __future__ import annotations

import gc
import importlib
import io
import os
import sys


def preload(names: list[str]) -> dict[str, str]:
    """Import each library; what could not be imported, with the reason."""
    failures: dict[str, str] = {}
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:  # noqa: BLE001 - a broken library must not cost the others
            failures[name] = f"{type(error).__name__}: {error}"
    if "matplotlib.pyplot" in sys.modules:
        _draw_once(sys.modules["matplotlib.pyplot"])
    gc.collect()
    gc.freeze()  # the collector must not touch, and so copy, what sessions share
    return failures


def _draw_once(pyplot: object) -> None:
    """The first figure is slow (fonts, caches): drawn here, no session pays for it."""
    figure = pyplot.figure()
    pyplot.plot([1, 2])
    pyplot.title("warm")
    figure.savefig(io.BytesIO(), format="png")
    pyplot.close("all")


def thread_count() -> int:
    """Threads of this process; a zygote must have one."""
    return len(os.listdir("/proc/self/task"))
