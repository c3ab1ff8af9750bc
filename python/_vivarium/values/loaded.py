"""Finds what libraries the program has loaded, without importing any and past any hook of theirs."""

from __future__ import annotations

import sys
from types import ModuleType

from _vivarium.values.hints import Any


def member(module: str, name: str) -> Any:
    """Return what a loaded module holds, or None; no value has None as its type."""
    found = sys.modules.get(module)
    if type(found) is not ModuleType:
        return None
    return ModuleType.__getattribute__(found, "__dict__").get(name)
