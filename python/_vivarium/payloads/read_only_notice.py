"""Tells code that may only read so, when it writes to a control system, starts a process or calls native code.

This is a message, not a wall: it runs in the process of the code, and code that wants to can get around it. What
enforces that nothing is written is outside: a session without network, and the access rules of the control system.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import zipimport
from collections.abc import Callable
from importlib import _bootstrap, _bootstrap_external
from importlib.machinery import ModuleSpec
from inspect import getattr_static
from types import ModuleType
from typing import TypedDict

PROCESS_EVENTS = frozenset(
    ["os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "subprocess.Popen", "pty.spawn"]
)


class Settings(TypedDict):
    """What is refused; `writes` has names such as `epics.caput`, `epics.PV().put`, `write_channel`, `PV().put`."""

    mode: str
    wayOut: str
    writes: list[str]
    processes: bool
    nativeCode: bool


class WriteRefused(PermissionError):
    """Something that this mode does not allow."""


def install(settings: Settings) -> None:
    """Cover everything that is imported already, and everything imported later."""
    os.environ["VIVARIUM_EXECUTION_MODE"] = settings["mode"]
    notice = WriteNotice(settings)
    notice.watch_loading()
    for name, module in list(sys.modules.items()):
        notice.cover(module, name)
    if settings["processes"] or settings["nativeCode"]:
        _refuse_events(settings)
    if settings["processes"]:
        import _posixsubprocess  # it raises no audit event

        _posixsubprocess.fork_exec = _refusing("starting a process", settings)


class WriteNotice:
    """Replaces what writes to a control system, in every module as soon as it is loaded."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._bare: list[str] = []
        self._methods: list[tuple[str, list[str]]] = []  # of classes that any module may have
        self._targets: dict[str, list[tuple[str, list[str]]]] = {}
        for pattern in settings["writes"]:
            parts = pattern.replace("()", "").split(".")
            if len(parts) == 1:
                self._bare.append(pattern)
            elif pattern.partition(".")[0].endswith("()"):
                self._methods.append((pattern, parts))
            elif parts[0] and parts[-1] != "*=":  # `.method` belongs to no module, `*=` ends in a method that is listed
                self._targets.setdefault(parts[0], []).append((pattern, parts))

    def watch_loading(self) -> None:
        """Cover modules where loaders run them: `sys.meta_path` can be changed, and loaders can be called directly."""
        load = _bootstrap._load_unlocked  # type: ignore[attr-defined]

        def load_and_cover(spec: ModuleSpec) -> ModuleType:
            module = load(spec)
            self.cover(module, spec.name)
            return module

        _bootstrap._load_unlocked = load_and_cover  # type: ignore[attr-defined]
        basics = _bootstrap_external._LoaderBasics  # type: ignore[attr-defined]
        for kind in (basics, _bootstrap_external.ExtensionFileLoader):
            self._watch_loader(kind)
        load_zipped = zipimport.zipimporter.load_module

        def load_zipped_and_cover(loader: zipimport.zipimporter, name: str) -> ModuleType:
            module = load_zipped(loader, name)
            self.cover(module, name)
            return module

        zipimport.zipimporter.load_module = load_zipped_and_cover  # type: ignore[method-assign]

    def _watch_loader(self, kind: type) -> None:
        run = kind.exec_module  # type: ignore[attr-defined]

        def exec_module(loader: object, module: ModuleType) -> None:
            run(loader, module)
            self.cover(module, module.__name__, getattr(loader, "path", None))

        kind.exec_module = exec_module  # type: ignore[attr-defined]

    def cover(self, module: object, name: str, file: object = None) -> None:
        """Replace what writes in this module, and in its package as far as that is loaded."""
        if module is not sys.modules.get("__main__"):
            self._cover_any(module, name)
        for known in {name, *self._names_by_file(file or getattr(module, "__file__", None))}:
            self._cover_known(module, known)

    def _cover_any(self, module: object, name: str) -> None:
        """Replace functions and methods that write in whatever module they are."""
        namespace = getattr(module, "__dict__", {})
        for bare in self._bare:
            if callable(namespace.get(bare)):
                namespace[bare] = _refusing(f"{name}.{bare}()", self._settings)
        for pattern, parts in self._methods:
            if isinstance(namespace.get(parts[0]), type):
                self._replace(module, parts, f"{name}.{pattern}")

    def _cover_known(self, module: object, name: str) -> None:
        """Replace what is listed for the package of this name."""
        for pattern, parts in self._targets.get(name.partition(".")[0], []):
            for end in range(len(parts) - 1, 0, -1):
                place = ".".join(parts[:end])
                found = module if place == name else sys.modules.get(place)
                if found is not None:
                    self._replace(found, parts[end:], pattern)
                    break

    def _names_by_file(self, file: object) -> list[str]:
        """Return the names that a module would have by its file: a loader can give it another."""
        if not isinstance(file, str):
            return []
        directory, _, base = file.rpartition(os.sep)
        stem = base.partition(".")[0]
        steps = [step for step in [*directory.split(os.sep), stem] if step != "__init__"]
        return [".".join(steps[index:]) for index, step in enumerate(steps) if step in self._targets]

    def _replace(self, module: object, way: list[str], pattern: str) -> None:
        """Put a refusal in the place that `way` leads to from the module, if it is there."""
        owner, name = module, way[-1].removesuffix("=")
        for step in way[:-1]:
            owner = getattr_static(owner, step, None)
        original = getattr_static(owner, name, None)
        if owner is None or original is None or getattr(original, "is_refusal", False):
            return
        refusal: object = _refusing(
            pattern.removesuffix("=") + (" =" if pattern.endswith("=") else "()"), self._settings
        )
        if pattern.endswith("="):
            if not isinstance(original, property):
                return
            refusal = property(original.fget, refusal, None, original.__doc__)  # type: ignore[arg-type]
        try:
            setattr(owner, name, refusal)
        except (TypeError, AttributeError):  # a class in C: what cannot be covered in it is taken away with it
            setattr(module, way[0], _refusing(pattern, self._settings))


def _refusing(what: str, settings: Settings) -> Callable[..., object]:
    """Return a function that refuses."""

    def refuse(*_: object, **__: object) -> object:
        raise _refusal(what, settings)

    refuse.is_refusal = True  # type: ignore[attr-defined]
    return refuse


def _refusal(what: str, settings: Settings) -> WriteRefused:
    return WriteRefused(f"{what} is refused: this code runs in the mode {settings['mode']}. {settings['wayOut']}")


def _refuse_events(settings: Settings) -> None:
    """Refuse what Python is about to do, under whatever name the program asks for it."""
    own = _directory_of(sys.modules.get("_vivarium"))
    libraries = tuple({*sysconfig.get_paths().values()} - {""}) + ((own,) if own else ())

    def is_of_library(depth: int) -> bool:
        """Tell whether a library wants it: they load native code of their own all the time."""
        frame = sys._getframe(depth)
        while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "ctypes":
            frame = frame.f_back  # type: ignore[assignment]
        return frame is None or frame.f_code.co_filename.startswith((*libraries, "<frozen"))

    def hook(event: str, _: object) -> None:
        if event in PROCESS_EVENTS:
            if settings["processes"] and not (own and sys._getframe(1).f_code.co_filename.startswith(own)):
                raise _refusal("starting a process", settings)
        elif event.startswith("ctypes.") and settings["nativeCode"] and not is_of_library(2):
            raise _refusal("calling native code with ctypes", settings)

    sys.addaudithook(hook)


def _directory_of(module: object) -> str | None:
    file = getattr(module, "__file__", None)
    return os.path.dirname(file) + os.sep if file else None
