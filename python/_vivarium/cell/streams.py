"""Standard streams of a run: output that shows early and stays fast, and input that says it is disabled."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from time import monotonic

from _vivarium.cell.order import Order
from _vivarium.values.hints import NoReturn

PROMPT_LINES = 64  # so many lines of a run show at once, whatever their pace
PAUSE_SECONDS = 0.05  # later ones wait at most for the first line after this pause
BUFFER_BYTES = 64 * 1024
NO_INPUT = "Python input() function is disabled."


class _Channel(io.FileIO):
    """A descriptor whose bytes keep their order among those of its sibling."""

    def __init__(self, fd: int, order: Order, before: Callable[[], None] | None = None) -> None:
        super().__init__(fd, "w", closefd=False)
        self._order = order
        self._before = before

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Write in turn."""
        if self._before is not None:
            self._before()
        self._order.enter(self.fileno())
        return super().write(data)

    def seekable(self) -> bool:
        """Say no, whatever the descriptor is when it is asked: a worker has no channels yet when its streams are made."""
        return False


class _Pace(io.BufferedWriter):
    """A buffer whose `flush`, called by the text stream at the end of each line, flushes only if the line is due."""

    def begin(self) -> None:
        """Start a run: its first lines show at once."""
        self.flush = _flush_when_due(self.flush_now, monotonic)  # type: ignore[method-assign]

    def flush_now(self) -> None:
        """Flush in any case."""
        super().flush()

    def close(self) -> None:
        """Close without losing what waits."""
        if not self.closed:
            self.flush_now()
        super().close()


def _flush_when_due(flush: Callable[[], None], clock: Callable[[], float]) -> Callable[[], None]:
    """Return the function called at the end of each line; a closure, because a million lines call it a million times."""
    due = 0.0
    prompt = PROMPT_LINES

    def flush_when_due() -> None:
        nonlocal due, prompt
        if clock() > due:
            if prompt > 0:
                prompt -= 1
            else:
                due = clock() + PAUSE_SECONDS
            flush()

    return flush_when_due


class _Bytes(io.BufferedIOBase):
    """The bytes side of `Output` for programs: its `flush` always flushes."""

    def __init__(self, pace: _Pace) -> None:
        self._pace = pace
        self.raw = pace.raw
        self.write = pace.write  # type: ignore[method-assign]
        self.flush = pace.flush_now  # type: ignore[method-assign]
        self.fileno = pace.fileno  # type: ignore[method-assign]
        self.writable = pace.writable  # type: ignore[method-assign]

    def close(self) -> None:
        """Close the buffer."""
        self._pace.close()

    @property
    def closed(self) -> bool:
        """Whether the buffer is closed."""
        return self._pace.closed


class Output(io.TextIOWrapper):
    """Text to a descriptor: line by line at first, then in blocks with a look at the clock at each line."""

    def __init__(self, fd: int, name: str, order: Order) -> None:
        self._pace = _Pace(_Channel(fd, order), BUFFER_BYTES)
        self._bytes = _Bytes(self._pace)
        super().__init__(self._pace, encoding="utf-8", errors="backslashreplace", line_buffering=True)
        self._name = name
        self.mode = "w"
        self._pace.begin()

    @property
    def name(self) -> str:
        """Name as Python gives it to its own streams."""
        return self._name

    @property
    def buffer(self) -> _Bytes:  # type: ignore[override]
        """Return the bytes side."""
        return self._bytes

    def flush(self) -> None:
        """Flush in any case: somebody asked for it."""
        super().flush()
        self._pace.flush_now()

    def begin(self) -> None:
        """Start a run: its first lines show at once."""
        self._pace.begin()

    def reset(self) -> None:
        """Bring back the settings of a new stream."""
        _reset(self, write_through=False)
        self._pace.begin()


class _Through(io.BufferedWriter):
    """A buffer that keeps nothing back."""

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Write and flush."""
        count = super().write(data)
        super().flush()
        return count


class ErrorOutput(io.TextIOWrapper):
    """Text to a descriptor, each write at once; `before` sends off what was printed before."""

    def __init__(self, fd: int, name: str, order: Order, before: Callable[[], None]) -> None:
        buffer = _Through(_Channel(fd, order, before))
        super().__init__(buffer, encoding="utf-8", errors="backslashreplace", line_buffering=True, write_through=True)
        self._name = name
        self.mode = "w"

    @property
    def name(self) -> str:
        """Name as Python gives it to its own streams."""
        return self._name

    def reset(self) -> None:
        """Bring back the settings of a new stream."""
        _reset(self, write_through=True)


def _reset(stream: io.TextIOWrapper, *, write_through: bool) -> None:
    """Configure a stream if the program has done so: it takes long, and nearly no program does."""
    now = (stream.encoding, stream.errors, stream.line_buffering, stream.write_through)
    if now != ("utf-8", "backslashreplace", True, write_through):
        stream.reconfigure(
            encoding="utf-8", errors="backslashreplace", line_buffering=True, write_through=write_through
        )


class NoInput(io.TextIOBase):
    """Standard input of a program that nobody can type to."""

    encoding = "utf-8"
    errors = "strict"
    mode = "r"
    name = "<stdin>"

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise NotImplementedError(NO_INPUT)

    read = readline = readlines = read1 = readinto = readinto1 = peek = __next__ = __iter__ = _refuse  # type: ignore

    @property
    def buffer(self) -> NoInput:
        """Return the bytes side, which refuses as well."""
        return self

    def readable(self) -> bool:
        """Programs that ask first get as far as the clear refusal."""
        return True

    def fileno(self) -> int:
        """Return the descriptor that child processes inherit; it is at its end."""
        return 0

    def close(self) -> None:
        """Stay as it is: there is nothing to close."""


def refuse_input(*_: object, **__: object) -> NoReturn:
    """Stand in for `input`."""
    raise NotImplementedError(NO_INPUT)


def end_of_input() -> int:
    """Open a descriptor that reads as ended, for descriptor 0."""
    try:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # a root without devices
        reader, writer = os.pipe()
        os.close(writer)
        return reader
