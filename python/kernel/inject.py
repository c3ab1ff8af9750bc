"""Puts Vivarium's own modules into a running kernel, from their source and out of the program's sight.

Its text is the first code that a kernel gets. The modules are loaded under their own names, which are given back at once:
a program may have a `cell` or a `show` of its own. Only `_vivarium` stays, by which later requests find the companion.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

OLDEST = (3, 10)
NAME = "_vivarium"
COMPANION = "kernel.companion"


class Sources:
    """Finds modules in a dictionary of their sources; packages are those that have modules below them."""

    def __init__(self, sources: dict[str, str]) -> None:
        self._sources = sources

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find what there is a source of."""
        if name not in self._sources:
            return None
        is_package = any(other.startswith(f"{name}.") for other in self._sources)
        return ModuleSpec(name, self, origin=f"<vivarium>/{name}", is_package=is_package)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave that to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the source."""
        module.__file__ = module.__spec__.origin  # type: ignore[union-attr]
        exec(compile(self._sources[module.__name__], str(module.__file__), "exec"), module.__dict__)


def inject(sources: dict[str, str], settings: dict[str, Any]) -> None:
    """Load the companion and start it; what the program had under the same names is back afterwards."""
    if sys.version_info < OLDEST:
        raise RuntimeError(f"the kernel runs Python {sys.version.split()[0]}, and Vivarium needs 3.10 or later")
    packages = {name.partition(".")[0] for name in sources}
    theirs = _take_out(packages)
    finder = Sources(sources)
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
    try:
        companion = importlib.import_module(COMPANION)
        companion.start(settings)
    finally:
        sys.meta_path.remove(finder)  # type: ignore[arg-type]
        _take_out(packages)
        sys.modules.update(theirs)
    sys.modules[NAME] = companion


def _take_out(packages: set[str]) -> dict[str, ModuleType]:
    """Remove the packages and all below them from the loaded modules; returns what was there."""
    names = [name for name in sys.modules if name.partition(".")[0] in packages]
    return {name: sys.modules.pop(name) for name in names}
