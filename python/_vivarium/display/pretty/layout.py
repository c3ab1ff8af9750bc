"""Breaks text into lines of a bounded width.

Text comes in groups with places where a line may end. If a line is too long, the outermost group on it ends a line at
all of its places. What a group does is known only when its line is, so text waits in a buffer until then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

WIDTH = 79


class TooLong(Exception):
    """The text is longer than it may be."""


class Layout:
    """Text that is written piece by piece. Its methods are those that `_repr_pretty_` expects of a printer."""

    def __init__(self, limit: int) -> None:
        self.indentation = 0
        self._room = limit
        self._done: list[str] = []  # pieces whose place is known
        self._column = 0  # where they end
        self._waiting: deque[str | _Place] = deque()
        self._waiting_width = 0
        self._open = [_Group(0)]
        self._undecided: list[list[_Group]] = [[self._open[0]]]  # by depth

    def getvalue(self) -> str:
        """Return all text."""
        self._settle(len(self._waiting))
        return "".join(self._done)

    def text(self, text: str) -> None:
        """Write text that stays on its line."""
        self._room -= len(text)
        if self._room < 0:
            raise TooLong
        if self._waiting:
            self._wait(text, len(text))
        else:
            self._done.append(text)
            self._column += len(text)

    def breakable(self, sep: str = " ") -> None:
        """Write a separator that becomes the end of the line if its group is too long."""
        group = self._open[-1]
        if group.is_broken:
            self._settle(len(self._waiting))
            self._end_line(self.indentation)
        else:
            place = _Place(sep, self.indentation, group)
            group.places += 1
            self._wait(place, len(sep))

    def break_(self) -> None:
        """End the line, and so one group that is on it."""
        group = self._outermost()
        if group is not None:
            self._break(group)
        self._settle(len(self._waiting))
        self._end_line(self.indentation)

    def begin_group(self, indent: int = 0, open: str = "") -> None:
        """Start a group: lines that end within it go on `indent` columns further right."""
        if open:
            self.text(open)
        group = _Group(len(self._open))
        self._open.append(group)
        while len(self._undecided) <= group.depth:
            self._undecided.append([])
        self._undecided[group.depth].append(group)
        self.indentation += indent

    def end_group(self, dedent: int = 0, close: str = "") -> None:
        """End the group that was started last."""
        self.indentation -= dedent
        group = self._open.pop()
        if group.places == 0:
            self._decide(group)
        if close:
            self.text(close)

    @contextmanager
    def group(self, indent: int = 0, open: str = "", close: str = "") -> Iterator[None]:
        """Make a group of what is written meanwhile."""
        self.begin_group(indent, open)
        try:
            yield
        finally:
            self.end_group(indent, close)

    @contextmanager
    def indent(self, indent: int) -> Iterator[None]:
        """Let lines that end meanwhile go on further right."""
        self.indentation += indent
        try:
            yield
        finally:
            self.indentation -= indent

    def _wait(self, piece: str | _Place, width: int) -> None:
        self._waiting.append(piece)
        self._waiting_width += width
        while self._column + self._waiting_width > WIDTH:
            group = self._outermost()
            if group is None:
                return
            self._break(group)

    def _break(self, group: _Group) -> None:
        group.is_broken = True
        while group.places:
            self._settle(1)
        while self._waiting and isinstance(self._waiting[0], str):
            self._settle(1)

    def _outermost(self) -> _Group | None:
        """Return the undecided group of the least depth, of several the newest, that has places on this line."""
        for groups in self._undecided:
            for index, group in enumerate(reversed(groups)):
                if group.places:
                    del groups[index]  # counted from the wrong end, as IPython does: its texts are what models know
                    return group
            for group in groups:
                group.is_broken = True
            groups.clear()
        return None

    def _settle(self, count: int) -> None:
        """Write so many of the waiting pieces."""
        for _ in range(count):
            piece = self._waiting.popleft()
            if isinstance(piece, str):
                self._waiting_width -= len(piece)
                self._done.append(piece)
                self._column += len(piece)
                continue
            self._waiting_width -= len(piece.separator)
            piece.group.places -= 1
            if piece.group.is_broken:
                self._end_line(piece.indentation)
                continue
            if piece.group.places == 0:
                self._decide(piece.group)
            self._done.append(piece.separator)
            self._column += len(piece.separator)

    def _end_line(self, indentation: int) -> None:
        self._done.append("\n" + " " * indentation)
        self._column = indentation

    def _decide(self, group: _Group) -> None:
        groups = self._undecided[group.depth]
        if group in groups:
            groups.remove(group)


class _Group:
    """Text that ends its line at all of its places, or at none."""

    __slots__ = ("depth", "is_broken", "places")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.is_broken = False
        self.places = 0  # those that wait


class _Place:
    """Where a line may end."""

    __slots__ = ("group", "indentation", "separator")

    def __init__(self, separator: str, indentation: int, group: _Group) -> None:
        self.separator, self.indentation, self.group = separator, indentation, group
