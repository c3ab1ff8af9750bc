"""Turns notebook syntax (`!shell`, `%magic`, `name?`) into Python with the same line numbers.

Python code that can be parsed is never changed, so text inside strings stays as it is. A line is translated only where
the parser finds an error and the line can be nothing else. This file needs nothing but `re`: it is also sent into
sessions that analyze code.
"""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # slow to load

# Cell magics whose body is a cell of its own, around which they do something.
AROUND = ("time", "capture")
# Commands that notebooks take without a percent sign. A line that is Python stays Python.
_BARE = "pip conda mamba cd ls ll cat cp mv rm mkdir rmdir".replace(" ", "|")
_NAME = r"[A-Za-z_][\w.]*"
# Patterns are compiled when they are first used: most sessions need none, and the zygote's start would wait for it.
_CELL = r"[ \t]*%%(?P<name>!|[A-Za-z_]\w*)(?P<argument>.*)"
_SKIPPED = r"[ \t\f]*(?:#.*)?$"
_LINE = (
    r"(?s)(?P<indent>[ \t]*)(?P<target>[A-Za-z_*(\[][\w.,*()\[\]'\" \t]*?(?<![=!<>])=(?!=)[ \t]*)?"
    r"(?:(?P<shell>!!?)(?!=)(?P<command>.*)"
    r"|(?P<mark>%%?)(?P<name>[A-Za-z_]\w*)(?P<argument>.*))"
)
_HELP = (
    rf"(?P<indent>[ \t]*)(?:(?P<before>\?\??)[ \t]*%?(?P<first>{_NAME})|%?(?P<last>{_NAME})(?P<after>\?\??))[ \t]*;?$"
)
_BARE_LINE = rf"(?s)(?P<indent>[ \t]*)(?P<name>{_BARE})(?P<argument>[ \t]+[^\s=(,.:\[].*)$"
# What decides where a statement begins: comments, strings, brackets and the ends of lines.
_TOKEN = (
    r"(?s)#[^\n]*|\"\"\"(?:\\.|(?!\"\"\").)*(?:\"\"\"|$)|'''(?:\\.|(?!''').)*(?:'''|$)"
    r"|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|[(\[{]|[)\]}]|\\\n|\n"
)


class Line(namedtuple("Line", ("kind", "name", "argument", "body", "number"))):
    """One piece of notebook syntax. `kind` is "system", "getoutput", "line" (a magic) or "cell" (one with a body)."""

    __slots__ = ()


class Parsed(namedtuple("Parsed", ("tree", "around", "lines"))):
    """The tree of a cell, the magics around it (name and argument), and the notebook syntax that was translated."""

    __slots__ = ()


def parse_notebook(code: str, parse: Callable[[str], Any], emit: Callable[[Line], str]) -> Parsed:
    """Return the tree that `parse` gives for a cell. `emit` gives the Python code for each piece of notebook syntax.

    What `emit` gives may have several lines, up to as many as it stands for.
    """
    found: list[Line] = []
    around: list[tuple[str, str]] = []

    originals = lines_of(code)

    def emit_and_note(line: Line) -> str:
        found.append(line)
        try:
            return emit(line)
        except SyntaxError as error:
            error.text = originals[line.number - 1]
            raise

    while cell := cell_magic(code):
        if cell.name not in AROUND:
            code = "\n" * (cell.number - 1) + _padded(emit_and_note(cell), code.count("\n") + 2 - cell.number)
            break
        around.append((cell.name, cell.argument))
        code = "\n" * (cell.number - 1) + f"{emit_and_note(cell)}\n{cell.body}"
    while True:
        try:
            return Parsed(parse(code), tuple(around), tuple(found))
        except SyntaxError as error:
            problem = error
        translated = _translate(code, problem.lineno, emit_and_note)
        if translated is None:
            raise problem
        code = translated


def as_python(line: Line) -> str:
    """Return the call that does what a piece of notebook syntax says. What is around a cell is not in its code."""
    if line.kind == "cell" and line.name in AROUND:
        return ""
    if line.kind in ("system", "getoutput"):
        return f"get_ipython().{line.kind}({line.argument!r})"
    body = "" if line.body is None else f", {line.body!r}"
    return f"get_ipython().run_{line.kind}_magic({line.name!r}, {line.argument!r}{body})"


def lines_of(code: str) -> list[str]:
    """Return the lines of `code` as Python counts them."""
    return code.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def cell_magic(code: str) -> Line | None:
    """Return the magic that the cell begins with, if it does. Comments and empty lines may come before it."""
    if "%%" not in code:
        return None
    lines = lines_of(code)
    index = 0
    while index < len(lines) and re.match(_SKIPPED, lines[index]):
        index += 1
    found = re.match(_CELL, lines[index]) if index < len(lines) else None
    if found is None:
        return None
    body = "\n".join(lines[index + 1 :])
    return Line("cell", found["name"], found["argument"].strip(), body, index + 1)


def _translate(code: str, lineno: int | None, emit: Callable[[Line], str]) -> str | None:
    """Return the code with the notebook lines from line `lineno` on translated, or None if there is none."""
    lines = lines_of(code)
    index = (lineno or 0) - 1
    if not 0 <= index < len(lines) or _line_at(lines, index) is None:
        index = _first_line(lines)
    changed = False
    while 0 <= index < len(lines) and (found := _line_at(lines, index)):
        indent, target, line, last = found
        new = indent + target + emit(line)
        lines[index : last + 1] = _padded(new, last + 1 - index).split("\n")
        index = last + 1
        changed = True
    return "\n".join(lines) if changed else None


def _first_line(lines: list[str]) -> int:
    """Return the index of the first statement that is a notebook line, or -1. The parser named another line."""
    code = "\n".join(lines)
    depth = index = 0
    if _line_at(lines, 0):
        return 0
    for token in re.finditer(_TOKEN, code):
        text = token[0]
        if text in "([{":
            depth += 1
        elif text in ")]}":
            depth = max(0, depth - 1)
        elif text == "\n":
            index += 1
            if depth == 0 and _line_at(lines, index):
                return index
        else:
            index += text.count("\n")
    return -1


def _line_at(lines: list[str], index: int) -> tuple[str, str, Line, int] | None:
    """Return indentation, assignment, the notebook line at `index`, and the index of the last line that it takes."""
    first = lines[index]
    if help_line := re.match(_HELP, first):
        name = help_line["first"] or help_line["last"]
        magic = "pinfo" if (help_line["before"] or help_line["after"]) == "?" else "pinfo2"
        return help_line["indent"], "", Line("line", magic, name, None, index + 1), index
    if not (re.match(_LINE, first) or re.match(_BARE_LINE, first)):
        return None
    last = index
    while lines[last].endswith("\\") and last + 1 < len(lines):
        last += 1
    text = " ".join([line[:-1] for line in lines[index:last]] + [lines[last]])
    found = re.match(_LINE, text)
    if found is None:
        bare = re.match(_BARE_LINE, text)
        if bare is None:
            return None
        return bare["indent"], "", Line("line", bare["name"], bare["argument"].strip(), None, index + 1), last
    return found["indent"], found["target"] or "", _meaning(found, index + 1), last


def _meaning(found: re.Match[str], number: int) -> Line:
    if found["shell"]:
        kind = "getoutput" if found["target"] or found["shell"] == "!!" else "system"
        return Line(kind, "", found["command"].strip(), None, number)
    kind = "line" if found["mark"] == "%" else "misplaced"
    return Line(kind, found["name"], found["argument"].strip(), None, number)


def _padded(text: str, count: int) -> str:
    """Return the text with as many lines as `count`."""
    return text + "\n" * (count - 1 - text.count("\n"))
