"""The lines of a command's output: a list that can also be searched and split into fields."""

from __future__ import annotations

import re
from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # slow to load


class SList(list):
    """What `files = !ls` gives. `.s` is text with spaces, `.n` text with line breaks, `.l` a list, `.p` paths."""

    @property
    def l(self) -> SList:  # noqa: E743 - the name that IPython gives it
        """Return the lines."""
        return self

    list = l

    @property
    def s(self) -> str:
        """Return the lines in one, with spaces between them."""
        return " ".join(self)

    spstr = s

    @property
    def n(self) -> str:
        """Return the lines as one text."""
        return "\n".join(self)

    nlstr = n

    @property
    def p(self) -> list[Any]:
        """Return the lines that name something that exists, as paths."""
        import pathlib

        return [pathlib.Path(line) for line in self if pathlib.Path(line).exists()]

    paths = p

    def grep(self, pattern: str | Callable[[str], Any], prune: bool = False, field: int | None = None) -> SList:
        """Return the lines in which the pattern is found, or those for which a function says so."""
        matches = pattern if callable(pattern) else re.compile(pattern, re.IGNORECASE).search

        def is_meant(line: str) -> bool:
            if field is None:
                return bool(matches(line))
            parts = line.split()
            return bool(matches(parts[field] if field < len(parts) else ""))

        return SList(line for line in self if is_meant(line) != prune)

    def fields(self, *fields: int) -> SList:
        """Return these fields of each line, separated by spaces; without arguments lists of all of them."""
        split = [line.split() for line in self]
        if not fields:
            return SList(split)
        rows = ([parts[at] for at in fields if -len(parts) <= at < len(parts)] for parts in split)
        return SList(" ".join(row) for row in rows if row)

    def sort(self, field: int | None = None, nums: bool = False) -> SList:  # type: ignore[override]
        """Return the lines sorted, by a field and as numbers if asked for."""

        def key(line: str) -> Any:
            parts = line.split() if field is not None else [line]
            text = parts[field or 0] if len(parts) > (field or 0) else ""
            if not nums:
                return text
            digits = "".join(character for character in text if character.isdigit())
            return int(digits) if digits else 0

        return SList(sorted(self, key=key))
