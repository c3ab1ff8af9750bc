"""Lets programs import their own files from the workspace, and notices when those files change."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
)
from types import ModuleType

# Two changes within one tick of the kernel's clock leave the same modification time.
UNSETTLED_NS = 2_000_000_000
Version = tuple[int, int]


class Loaded:
    """One module that came from the workspace."""

    def __init__(self, path: str, version: Version | None, source: bytes | None) -> None:
        self.path = path
        self.version = version
        self.source = source  # kept while the file is so new that its time does not prove it unchanged


class WorkspaceModules:
    """The modules that a program imported from its workspace."""

    def __init__(self, workspace: str) -> None:
        self._root = os.path.realpath(workspace)
        self._loaded: dict[str, Loaded] = {}

    @property
    def names(self) -> frozenset[str]:
        """Return the names of these modules."""
        return frozenset(self._loaded)

    def install(self) -> None:
        """Put the current directory first on the path, as in notebooks, and import workspace files without caches."""
        if "" not in sys.path:
            sys.path.insert(0, "")
        sys.path_hooks.insert(0, self._finder_of)
        for path in [path for path in sys.path_importer_cache if self._is_inside(path)]:
            del sys.path_importer_cache[path]

    def refresh(self) -> None:
        """Forget all modules of the workspace if the file of one of them has changed: others may depend on it."""
        if self._loaded and any(_has_changed(loaded) for loaded in self._loaded.values()):
            self._forget()

    def note(self, name: str, path: str, version: Version | None, source: bytes) -> None:
        """Remember what a module was loaded from."""
        is_young = version is None or time.time_ns() - version[0] < UNSETTLED_NS
        self._loaded[name] = Loaded(path, version, source if is_young else None)

    def _finder_of(self, path: str) -> _Finder:
        """Return a finder for a directory of the workspace; a hook for `sys.path_hooks`."""
        if not self._is_inside(path) or not os.path.isdir(path):
            raise ImportError("not a directory of the workspace", path=path)
        return _Finder(path, lambda name, file: _Loader(name, file, self.note))

    def _is_inside(self, path: str) -> bool:
        return path == self._root or path.startswith(f"{self._root}/")

    def _forget(self) -> None:
        for name in self._loaded:
            sys.modules.pop(name, None)
            while name := name.rpartition(".")[0]:
                if _is_namespace_package(sys.modules.get(name)):  # it would keep the old module as an attribute
                    del sys.modules[name]
        self._loaded.clear()
        for finder in sys.path_importer_cache.values():
            if isinstance(finder, _Finder):
                finder.invalidate_caches()


class _Finder(FileFinder):
    """Lists a directory again while its modification time is too recent to prove the cached list complete."""

    def __init__(self, path: str, make_loader: Callable[[str, str], SourceFileLoader]) -> None:
        details = ((ExtensionFileLoader, EXTENSION_SUFFIXES), (make_loader, SOURCE_SUFFIXES))
        super().__init__(path, *details)  # type: ignore[arg-type]

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        """Find a module, even if its file was written a moment ago."""
        version = _version_of(self.path)
        if version is not None and time.time_ns() - version[0] < UNSETTLED_NS:
            self.invalidate_caches()
        return super().find_spec(fullname, target)


class _Loader(SourceFileLoader):
    """Loads a file without bytecode caches: they compare times in whole seconds."""

    def __init__(self, name: str, path: str, note: Callable[[str, str, Version | None, bytes], None]) -> None:
        super().__init__(name, path)
        self._note = note

    def path_stats(self, path: str) -> dict[str, float]:  # type: ignore[override]
        """Fail, so that no cache is read or written."""
        raise OSError("no bytecode caches in the workspace")

    def exec_module(self, module: ModuleType) -> None:
        """Run the file and remember its version."""
        version = _version_of(self.path)
        self._note(self.name, self.path, version, self.get_data(self.path))
        super().exec_module(module)


def _version_of(path: str) -> Version | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _has_changed(loaded: Loaded) -> bool:
    version = _version_of(loaded.path)
    if version is None or version != loaded.version:
        return True
    if loaded.source is None:
        return False
    try:
        with open(loaded.path, "rb") as file:
            if file.read() != loaded.source:
                return True
    except OSError:
        return True
    if time.time_ns() - version[0] >= UNSETTLED_NS:
        loaded.source = None
    return False


def _is_namespace_package(module: ModuleType | None) -> bool:
    return module is not None and hasattr(module, "__path__") and getattr(module, "__file__", None) is None
