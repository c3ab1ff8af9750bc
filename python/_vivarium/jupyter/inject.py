"""Loads our package into a running kernel from its sources.

The text of this file is the first code that a kernel runs. Programs see one name of ours, `_vivarium`.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

OLDEST = (3, 10)
COMPANION = "_vivarium.jupyter.companion"


class Sources:
    """Finds modules in a dictionary of their sources. A module with others below it is a package."""

    def __init__(self, sources: dict[str, str]) -> None:
        self._sources = sources

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find a module that has a source."""
        if name not in self._sources:
            return None
        is_package = any(other.startswith(f"{name}.") for other in self._sources)
        return ModuleSpec(name, self, origin=f"<vivarium>/{name}", is_package=is_package)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make an ordinary module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the source."""
        module.__file__ = f"<vivarium>/{module.__name__}"
        exec(compile(self._sources[module.__name__], module.__file__, "exec"), module.__dict__)


def inject(sources: dict[str, str], settings: dict[str, Any]) -> None:
    """Load the companion and start it. It finds all that it imports at once, so the finder does not stay."""
    if sys.version_info < OLDEST:
        raise RuntimeError(f"the kernel runs Python {sys.version.split()[0]}, and Vivarium needs 3.10 or later")
    finder = Sources(sources)
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
    try:
        importlib.import_module(COMPANION).start(settings)
    finally:
        sys.meta_path.remove(finder)  # type: ignore[arg-type]
