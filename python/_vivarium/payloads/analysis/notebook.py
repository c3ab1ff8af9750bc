"""Turns notebook syntax into Python that tells the analysis what it does.

A command becomes a call of `shell_line`, and a magic that runs something a call of `magic_line`. Python code inside of
a line (`%time f(x)`, `!echo {f(x)}`) is analyzed as what it is. Magics without an effect become nothing.
"""

from __future__ import annotations

import ast
import re
import shlex
import unicodedata
from collections.abc import Callable

from _vivarium.notebook.expansion import expressions_in
from _vivarium.notebook.syntax import AROUND, Line, parse_notebook

SHELL, MAGIC = "shell_line", "magic_line"
_COMMANDS = (
    "sx system ! bash sh script python python2 python3 pypy perl ruby cmd pip conda mamba micromamba uv "
    "ls ll lf lk lx ldir cat cp mv rm mkdir rmdir more less man rehashx alias alias_magic"
).split()
_HARMLESS = (
    "matplotlib autoreload pwd cd env set_env who whos who_ls reset reset_selective lsmagic magic "
    "xmode colors precision autosave html HTML markdown latex svg SVG javascript js quickref"
).split()
# Magics that are harmless with an argument of this form.
_NAME = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_HARMLESS_WITH = {
    **dict.fromkeys(("pinfo", "pinfo2", "pdoc"), re.compile(_NAME)),
    **dict.fromkeys(("history", "hist"), re.compile(r"(?:-[nl]|\d+|\s)*")),
    "config": re.compile(r"(?:[\w.]+\s*=\s*(?:\{?['\"][\w ,'\".-]*['\"]\}?|[\w.]+))?"),
}
_CODE = ("time", "timeit")
_TIMEIT_OPTIONS = re.compile(r"(?:-(?:[nrp]\s*\d+|[tcqov]+)(?:\s+|$))*")


def parse_cell(code: str, parse: Callable[[str], ast.Module]) -> ast.Module:
    """Return the tree of a cell. Every problem with it is a SyntaxError."""
    parsed = parse_notebook(code, parse, _emit)
    text = unicodedata.normalize("NFKC", code)
    if parsed.lines and re.search(rf"\b(?:{SHELL}|{MAGIC})\b", text):
        raise SyntaxError(f"the names {SHELL} and {MAGIC} mean notebook lines to the analysis; use other names")
    return parsed.tree


def _emit(line: Line) -> str:
    if line.kind == "misplaced":
        raise SyntaxError(f"%%{line.name[:50]} must be in the first line of its cell", ("<code>", line.number, 1, None))
    if line.kind == "cell" and line.name in AROUND:
        return _parts(line.argument) if "{" in line.argument else ""
    if line.kind in ("system", "getoutput") or line.name in _COMMANDS:
        return _call(SHELL, line)
    if line.name in _CODE:
        return _timed(line)
    if line.name in ("writefile", "file"):
        return _written(line)
    if line.name in ("load_ext", "reload_ext", "aimport") and re.fullmatch(_NAME, line.argument):
        return f"import {line.argument}" if line.argument != "autoreload" else "pass"
    form = _HARMLESS_WITH.get(line.name)
    if line.name in _HARMLESS or (form is not None and form.fullmatch(line.argument)):
        return _parts(line.argument)
    return _call(MAGIC, line)


def _call(name: str, line: Line) -> str:
    text = " ".join(part for part in (line.name, line.argument, line.body) if part)
    return f"{name}({text!r}, {_parts(line.argument)})"


def _parts(text: str) -> str:
    """Return a tuple of the expressions in braces. Those that are not Python are not run either."""
    parts = [part for part in expressions_in(text) if _is_expression(part)]
    return f"({', '.join(f'({part})' for part in parts)}{',' if parts else ''})"


def _is_expression(text: str) -> bool:
    try:
        ast.parse(f"({text})", mode="eval")
        ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return "\n" not in text


def _timed(line: Line) -> str:
    """Return the code that is timed. Of a cell, the first line is the setup."""
    statement = line.argument
    if line.name == "timeit":
        statement = statement[_TIMEIT_OPTIONS.match(statement).end() :]  # type: ignore[union-attr]
    try:
        ast.parse(statement)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _call(MAGIC, line)
    first = statement if statement.strip() and "\n" not in statement else "pass"
    return first if line.body is None else f"{first}\n{line.body}"


def _written(line: Line) -> str:
    try:
        words = [word for word in shlex.split(line.argument) if word not in ("-a", "--append")]
    except ValueError:
        return _call(MAGIC, line)
    return f"open({' '.join(words)!r}, 'w', {_parts(line.argument)})"
