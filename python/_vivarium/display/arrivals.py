"""Runs actions when libraries are loaded, now or later, by whomever; imports none itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import ModuleType

from _vivarium.values.hints import Any
from _vivarium.values.text import attempt

Action = Callable[[ModuleType], None]


class Arrivals:
    """A finder at the head of `sys.meta_path` that waits for modules by name and leaves finding them to others."""

    def __init__(self, actions: Mapping[str, Action]) -> None:
        self._actions = dict(actions)
        self._met: dict[str, ModuleType] = {}

    def check(self) -> None:
        """Run the actions of modules that are loaded already or were loaded without passing through this finder."""
        for finder in sys.meta_path:
            if finder is self:
                break
        else:
            sys.meta_path.insert(0, self)  # type: ignore[arg-type]
        for name in self._actions:
            module = sys.modules.get(name)
            if module is not None and self._met.get(name) is not module and not _is_loading(module):
                self._meet(name, module)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Have the other finders find an awaited module, and run its action once it is loaded."""
        if name not in self._actions:
            return None
        spec = None
        for finder in self._finders_behind():
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                break
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, lambda module: self._meet(name, module))
        return spec

    def _finders_behind(self) -> list[Any]:
        """Return the finders that Python asks after this one. One before it may be calling it right now."""
        finders = list(sys.meta_path)
        place = next((index for index, finder in enumerate(finders) if finder is self), -1)
        return [finder for finder in finders[place + 1 :] if hasattr(finder, "find_spec")]

    def _meet(self, name: str, module: ModuleType) -> None:
        self._met[name] = module
        attempt(lambda: self._actions[name](module))


class _Loader:
    """The loader of a module, with a call after loading."""

    def __init__(self, loader: Any, loaded: Action) -> None:
        self._loader = loader
        self._loaded = loaded

    def create_module(self, spec: Any) -> Any:
        """Create the module with its own loader."""
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        """Put the module's own loader back, run the module with it, then make the call."""
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._loaded(module)

    def __getattr__(self, name: str) -> Any:
        """Return everything else from the loader."""
        return getattr(self._loader, name)


def _is_loading(module: ModuleType) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))
