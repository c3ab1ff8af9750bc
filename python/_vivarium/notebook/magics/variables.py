"""Magics about variables: `%who`, `%whos`, `%who_ls`, `%reset`, `%reset_selective`."""

from __future__ import annotations

import re

from _vivarium.notebook.magics.registry import Call, UsageError, magic, options_in
from _vivarium.values.text import attempt, text_of, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # slow to load

PER_LINE = 9
GAP = 3
SHOWN = 25  # characters at both ends of a long text
LONG = 50
KILOBYTE = 1024


@magic("who_ls")
def _who_ls(call: Call) -> list[str]:
    """Give the names of all variables, or of those of some types: %who_ls int str."""
    return _names(call)


@magic("who")
def _who(call: Call) -> None:
    """Print the names of all variables, or of those of some types."""
    names = _names(call)
    if not names:
        _say_none(call)
        return
    for start in range(0, len(names), PER_LINE):
        row = " ".join(f"{name}\t" for name in names[start : start + PER_LINE])
        print(row, end=" \n")
    if len(names) % PER_LINE == 0:
        print()


@magic("whos")
def _whos(call: Call) -> None:
    """Print all variables with their types and what they hold."""
    names = _names(call)
    if not names:
        _say_none(call)
        return
    values = [call.shell.user_ns[name] for name in names]
    kinds = [type_name(value) for value in values]
    width = max(map(len, [*names, "Variable"])) + GAP
    kind_width = max(map(len, [*kinds, "Type"])) + GAP
    print(f"{'Variable':<{width}}{'Type':<{kind_width}} Data/Info")
    print("-" * (width + kind_width + len("Data/Info") + 1))
    for name, kind, value in zip(names, kinds, values):
        print(f"{name:<{width}}{kind:<{kind_width}} {_summary(kind, value)}")


@magic("reset")
def _reset(call: Call) -> None:
    """Remove all variables; -f is needed, because nobody can be asked."""
    options, _ = options_in(call.argument, "fs")
    if "f" not in options:
        raise UsageError("%reset removes all variables and nobody can be asked here. Use %reset -f.")
    _remove(call, ".")


@magic("reset_selective")
def _reset_selective(call: Call) -> None:
    """Remove the variables whose names a regular expression finds; -f is needed, because nobody can be asked."""
    options, pattern = options_in(call.argument, "f")
    if "f" not in options or not pattern:
        raise UsageError("Nobody can be asked here. Use %reset_selective -f PATTERN.")
    _remove(call, pattern)


def _remove(call: Call, pattern: str) -> None:
    matches = re.compile(pattern).search
    for name in [name for name in call.shell.user_ns if matches(name) and not re.fullmatch("__.*__", name)]:
        del call.shell.user_ns[name]


def _names(call: Call) -> list[str]:
    kinds = call.argument.split()
    names = call.shell.user_ns
    found = [name for name in names if isinstance(name, str) and not name.startswith("_")]
    return sorted(name for name in found if not kinds or type_name(names[name]) in kinds)


def _say_none(call: Call) -> None:
    print("No variables match your requested type." if call.argument else "Interactive namespace is empty.")


def _summary(kind: str, value: Any) -> str:
    if type(value) in (dict, list, tuple):
        return f"n={len(value)}"
    if kind == "ndarray":
        return str(attempt(lambda: _array(value)) or "")
    if kind == "DataFrame":
        return f"Shape: {attempt(lambda: value.shape)}"
    text = text_of(value, 10_000, as_str=True).replace("\n", "\\n")
    return text if len(text) < LONG else f"{text[:SHOWN]}<...>{text[-SHOWN:]}"


def _array(value: Any) -> str:
    shape = "x".join(map(str, value.shape))
    size = f"{shape}: {value.size} elems, type `{value.dtype}`, {value.nbytes} bytes"
    if value.nbytes < 100_000:
        return size
    is_large = value.nbytes >= KILOBYTE**2
    return f"{size} ({value.nbytes / KILOBYTE ** (2 if is_large else 1)} {'Mb' if is_large else 'kb'})"
