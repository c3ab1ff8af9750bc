"""Finds members of libraries that the program has loaded, without importing any or running their hooks."""

from __future__ import annotations

import sys
from types import ModuleType

from _vivarium.values.hints import Any


def member(module: str, name: str) -> Any:
    """Return a member of a loaded module, or None. No value has None as its type, so comparing types stays safe."""
    found = sys.modules.get(module)
    if type(found) is not ModuleType:
        return None
    return ModuleType.__getattribute__(found, "__dict__").get(name)
