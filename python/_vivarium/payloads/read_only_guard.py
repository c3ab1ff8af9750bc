"""Refuses writes and processes in runs that may only read, however they are spelt.

The sandbox is the wall; this is the message in front of it: what is refused says so, and says what to do.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Callable
from inspect import getattr_static
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
    """Guard everything that is imported already, and everything imported later."""
    os.environ["VIVARIUM_EXECUTION_MODE"] = settings["mode"]
    guard = WriteGuard(settings)
    sys.meta_path.insert(0, guard)  # type: ignore[arg-type]
    for name in list(sys.modules):
        guard.cover(name)
    if settings["processes"] or settings["nativeCode"]:
        _refuse_events(settings)
    if settings["processes"]:
        import _posixsubprocess  # it raises no audit event

        _posixsubprocess.fork_exec = _refusing("starting a process", settings)


class WriteGuard:
    """A module finder that finds nothing itself. It covers modules of control systems as soon as they are loaded."""

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

    def find_spec(self, name: str, path: object, target: object = None) -> object:
        """Let the other finders find the module, and cover it when its loader has run."""
        spec = None
        for finder in sys.meta_path:
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)  # type: ignore[arg-type]
                if spec is not None:
                    break
        loader = getattr(spec, "loader", None)
        run = getattr(loader, "exec_module", None)
        if run is None or isinstance(loader, type) or hasattr(run, "is_cover"):
            return spec

        def exec_module(module: object) -> None:
            run(module)
            self.cover(getattr(module, "__name__", name))

        exec_module.is_cover = True  # type: ignore[attr-defined]
        try:
            loader.exec_module = exec_module  # type: ignore[union-attr]
        except AttributeError:  # a loader without a place for it belongs to no control system that is known
            pass
        return spec

    def cover(self, name: str) -> None:
        """Replace what writes in this module, and in its package as far as that is loaded."""
        namespace = getattr(sys.modules.get(name), "__dict__", {})
        for bare in self._bare:
            if callable(namespace.get(bare)) and name != "__main__":
                namespace[bare] = _refusing(f"{name}.{bare}()", self._settings)
        for pattern, parts in self._methods:
            if isinstance(namespace.get(parts[0]), type) and name != "__main__":
                self._replace(sys.modules[name], parts, f"{name}.{pattern}")
        for pattern, parts in self._targets.get(name.partition(".")[0], []):
            for end in range(len(parts) - 1, 0, -1):
                module = sys.modules.get(".".join(parts[:end]))
                if module is not None:
                    self._replace(module, parts[end:], pattern)
                    break

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
