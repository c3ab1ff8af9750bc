"""Finds calls of package installers in shell lines: `%pip`, `!pip`, `!uv pip`, `!python -m pip`, `%conda`.

They are answered by `inside/pip`, as are those of child processes.
"""

from __future__ import annotations

import re
import shlex

_PIP = r"(?:sudo\s+)?(?:(?:\S*/)?python[\d.]*\s+-m\s+|(?:\S*/)?uv\s+)?(?:\S*/)?pip[\d.]*$"
_OTHERS = r"(?:sudo\s+)?(?:conda|mamba|micromamba|poetry|pipenv|uv)$"
_ENDS = ("&&", ";", "|", "||", "&", ">", ">>", "<", "2>", "2>&1", "&>")


def wish_in(command: str) -> tuple[str, list[str], str] | None:
    """Return the installer that a shell line calls first, its arguments and what follows `&&` or `;`, if it does.

    What redirects or filters its output is left out.
    """
    if not re.search(r"\b(?:pip|conda|mamba|micromamba|uv)", command):
        return None
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=";|&<>")
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:  # an open quote
        words = command.split()
    first = next((at for at, word in enumerate(words) if word in _ENDS or set(word) <= set(";|&<>")), len(words))
    for count in range(1, min(first, 5) + 1):
        head = " ".join(words[:count])
        if re.match(_PIP, head):
            is_plain = first == len(words) or words[count : count + 1] in (["install"], ["add"])
            return ("pip", _plain(words[count:first]), _rest(command)) if is_plain else None  # a shell filters a list
        if re.match(_OTHERS, head) and words[count : count + 1] != ["pip"]:
            return words[count - 1], _plain(words[count:first]), _rest(command)
    return None


def _plain(words: list[str]) -> list[str]:
    """Return the arguments without the number of a descriptor before `>`."""
    return words[:-1] if words and words[-1] in ("1", "2") else words


def _rest(command: str) -> str:
    """Return the commands that follow the first one."""
    found = re.search(r"&&|;", command)
    return command[found.end() :].strip() if found else ""
