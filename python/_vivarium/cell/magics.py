"""Replaces notebook lines (`!shell` and `%magic`) with Python code of the same meaning."""

from __future__ import annotations

import re

NO_SHELL = "print('Shell commands are not available here; write it in plain Python.')"
NO_INSTALL = (
    "print('Nothing can be installed here. There is:', ', '.join(sorted({d.name or '' for d in "
    "__import__('importlib.metadata', fromlist=['']).distributions()}, key=str.lower)[:200]))"
)
_IGNORED = ("matplotlib", "config", "load_ext", "reload_ext", "autoreload")
_INSTALLERS = ("pip", "conda", "mamba", "uv")
_INSTALL = re.compile(rf"!?\s*(?:\S*python[\d.]*\s+-m\s+)?(?:{'|'.join(_INSTALLERS)})[\d.]*\s")
_MAGIC = re.compile(r"([ \t]*)(!|%%?(?=[A-Za-z]))(.*)", re.DOTALL)


def lines_of(code: str) -> list[str]:
    """Return the lines of `code` as Python counts them."""
    return code.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def replace(code: str, lineno: int | None, filename: str) -> str | None:
    """Return `code` with the notebook lines from line `lineno` on replaced, or None if that line is not one.

    `lineno` comes from a syntax error of the parser, so text inside strings is never replaced. The number of lines
    stays the same.
    """
    lines = lines_of(code)
    index = (lineno or 0) - 1
    if not 0 <= index < len(lines) or not _MAGIC.match(lines[index]):
        return None
    while index < len(lines) and (found := _MAGIC.match(lines[index])):
        indent, mark, rest = found.groups()
        last = index
        while lines[last].endswith("\\") and last + 1 < len(lines):
            last += 1
        rest = "\n".join([rest, *lines[index + 1 : last + 1]])
        new = indent + _meaning(mark, rest, (filename, index + 1, len(indent) + 1, lines[index]))
        lines[index : last + 1] = (new + "\n" * (last - index - new.count("\n"))).split("\n")
        index = last + 1
    return "\n".join(lines)


def _meaning(mark: str, rest: str, where: tuple[str, int, int, str]) -> str:
    """Return the Python text for one notebook line."""
    if mark == "!":
        return NO_INSTALL if _INSTALL.match(rest) else NO_SHELL
    name, _, argument = rest.partition(" ")
    name = name.strip()
    if name == "time":
        return "" if mark == "%%" else argument.strip() or "pass"
    if mark == "%" and name in _INSTALLERS:
        return NO_INSTALL
    if mark == "%" and name in _IGNORED:
        return "pass"
    raise SyntaxError(f"magics are not available: {mark}{name[:50]}; write it in plain Python", where)
