"""Lists modules that can be imported, without importing any."""

from __future__ import annotations

import os
import sys
from itertools import islice
from types import ModuleType

FOLDER_LIMIT = 5000
_SUFFIXES = (".py", ".so", ".pyd")


def modules_in(parent: str) -> set[str]:
    """Return the names of modules right below a package; of all others for an empty name."""
    names: set[str] = set()
    folders = _search_path() if parent == "" else _folders_of(parent)
    for folder in folders:
        names |= _listed(folder)
    return names | set(sys.stdlib_module_names) if parent == "" else names


def _search_path() -> list[str]:
    return [folder or "." for folder in sys.path if type(folder) is str] if type(sys.path) is list else []


def _folders_of(package: str) -> list[str]:
    found = sys.modules.get(package)
    if type(found) is ModuleType:
        path = ModuleType.__getattribute__(found, "__dict__").get("__path__")
        if type(path) is list:
            return [folder for folder in path if type(folder) is str]
    steps = package.split(".")
    return [os.path.join(folder, *steps) for folder in _search_path()] if all(steps) else []


def _listed(folder: str) -> set[str]:
    names: set[str] = set()
    try:
        with os.scandir(folder) as listing:
            for item in islice(listing, FOLDER_LIMIT):
                name, dot, _ = item.name.partition(".")
                if name.isidentifier() and (item.name.endswith(_SUFFIXES) if dot else item.is_dir()):
                    names.add(name)
    except OSError:
        return names  # not a directory, or one that the session may not read
    return names
