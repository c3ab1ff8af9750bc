"""The list of magics. Each is a small function; this file knows them all by name."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # slow to load

KINDS = ("line", "cell")
_magics: dict[tuple[str, str], Magic] = {}


class UsageError(Exception):
    """A magic was given what it cannot use."""


class Magic(namedtuple("Magic", ("name", "kind", "function", "expands"))):
    """A magic. `expands`: `{expression}` and `$name` in its line are replaced by values."""

    __slots__ = ()

    @property
    def summary(self) -> str:
        """Return what it does, in a sentence."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]


class Call(namedtuple("Call", ("shell", "name", "argument", "body", "place"))):
    """One call of a magic: the interpreter, its name, the rest of its line, the lines below it, and where it stands."""

    __slots__ = ()


class Place(namedtuple("Place", ("filename", "number", "names", "local"))):
    """Where a magic stands: file and line for tracebacks, and the variables of the code around it."""

    __slots__ = ()


def magic(*names: str, kinds: tuple[str, ...] = ("line",), expands: bool = True) -> Callable[[Any], Any]:
    """Make a function a magic of these names. It takes a `Call` and returns a value."""

    def register(function: Callable[[Call], object]) -> Callable[[Call], object]:
        for name in names:
            for kind in kinds:
                _magics[kind, name] = Magic(name, kind, function, expands)
        return function

    return register


def find(kind: str, name: str) -> Magic | None:
    """Return a magic, if there is one of this name."""
    return _magics.get((kind, name))


def known(kind: str) -> list[str]:
    """Return the names of all magics of a kind, sorted."""
    return sorted(name for one, name in _magics if one == kind)


def listing() -> str:
    """Return all names in two lines, as they are typed."""
    lines = " ".join(f"%{name}" for name in known("line"))
    return f"line magics: {lines}; cell magics: {' '.join(f'%%{name}' for name in known('cell'))}"


def options_in(argument: str, flags: str = "", valued: str = "") -> tuple[dict[str, str | bool], str]:
    """Return the options at the start of a line (`-q`, `-n 5`, `-n5`), and the rest of the line as it is."""
    found: dict[str, str | bool] = {}
    rest = argument.strip()
    while rest.startswith("-") and rest[1:2] and rest[1] in flags + valued:
        word, _, after = rest.partition(" ")
        letters = word[1:]
        while letters and letters[0] in flags:
            found[letters[0]] = True
            letters = letters[1:]
        if letters:
            if letters[0] not in valued:
                there = ", ".join(f"-{one}" for one in flags + valued)
                raise UsageError(f"there is no option -{letters[0]} here; there is: {there}")
            value = letters[1:]
            if not value:
                value, _, after = after.strip().partition(" ")
            found[letters[0]] = value
        rest = after.strip()
    return found, rest
