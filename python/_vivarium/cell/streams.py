"""Standard streams of a run: output that is sent early and stays fast, and input that is given or raises an error."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from time import monotonic

from _vivarium.cell.order import Order
from _vivarium.values.hints import NoReturn

PROMPT_LINES = 64  # lines of a run that are sent at once, however fast they come
PAUSE_SECONDS = 0.05  # later lines are sent with the first line after this pause
BUFFER_BYTES = 64 * 1024
ERROR_BUFFER_BYTES = 8 * 1024
NO_INPUT = (
    "Python input() function is disabled. Nobody can type an answer here: put the value into the code instead, "
    "for example name = 'Ada'. The caller can also provide input with the run option stdin."
)


class _Channel(io.FileIO):
    """A descriptor whose bytes stay in order with those of the other stream."""

    def __init__(self, fd: int, order: Order, buffer_bytes: int, before: Callable[[], None] | None = None) -> None:
        super().__init__(fd, "w", closefd=False)
        self._order = order
        self._buffer_bytes = buffer_bytes  # of the buffer before it
        self._before = before
        self._written: list[int] = []

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Write once the other stream was read.

        An interrupt may end this function after any call. What is written by then would be written again, so it is
        noted within the call that writes it, and reported the next time. What is too long for the buffer is not in it,
        and would not be written again.
        """
        if not self._written:
            if self._before is not None:
                self._before()
            self._order.enter(self.fileno())
            if len(data) > self._buffer_bytes:
                return super().write(data)
            self._written.extend(map(super().write, (data,)))
        written, self._written = self._written[0], []
        return written

    def seekable(self) -> bool:
        """Return False, whatever the descriptor is now: streams are made before a worker has its channels."""
        return False


class _Pace(io.BufferedWriter):
    """A buffer whose `flush`, which the text stream calls at the end of each line, flushes only when it is time."""

    def begin(self) -> None:
        """Start a run: its first lines are sent at once."""
        self.flush = _flush_when_due(self.flush_now, monotonic)  # type: ignore[method-assign]

    def flush_now(self) -> None:
        """Flush at once."""
        super().flush()

    def close(self) -> None:
        """Flush and close."""
        if not self.closed:
            self.flush_now()
        super().close()


def _flush_when_due(flush: Callable[[], None], clock: Callable[[], float]) -> Callable[[], None]:
    """Return the function to call at the end of each line. A closure is fastest, and there may be a million lines."""
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
    """`Output.buffer` as programs see it: its `flush` always flushes."""

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
    """Writes text to a descriptor: line by line at first, later in blocks."""

    def __init__(self, fd: int, name: str, order: Order) -> None:
        self._pace = _Pace(_Channel(fd, order, BUFFER_BYTES), BUFFER_BYTES)  # type: ignore[arg-type]
        self._bytes = _Bytes(self._pace)
        super().__init__(self._pace, encoding="utf-8", errors="backslashreplace", line_buffering=True)
        self._name = name
        self.mode = "w"  # type: ignore[misc]
        self._pace.begin()

    @property
    def name(self) -> str:
        """Return the name that Python's own stream has."""
        return self._name

    @property
    def buffer(self) -> _Bytes:  # type: ignore[override]
        """Return the stream of bytes below."""
        return self._bytes

    def flush(self) -> None:
        """Flush at once: the program asked for it."""
        super().flush()
        self._pace.flush_now()

    def begin(self) -> None:
        """Start a run: its first lines are sent at once."""
        self._pace.begin()

    def reset(self) -> None:
        """Restore the settings of a new stream."""
        _reset(self, write_through=False)
        self._pace.begin()


class _Through(io.BufferedWriter):
    """A buffer that flushes each write."""

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Write and flush."""
        count = super().write(data)
        super().flush()
        return count


class ErrorOutput(io.TextIOWrapper):
    """Writes text to a descriptor at once; `before` first sends what was printed earlier."""

    def __init__(self, fd: int, name: str, order: Order, before: Callable[[], None]) -> None:
        buffer = _Through(_Channel(fd, order, ERROR_BUFFER_BYTES, before), ERROR_BUFFER_BYTES)  # type: ignore[arg-type]
        super().__init__(buffer, encoding="utf-8", errors="backslashreplace", line_buffering=True, write_through=True)
        self._name = name
        self.mode = "w"  # type: ignore[misc]

    @property
    def name(self) -> str:
        """Return the name that Python's own stream has."""
        return self._name

    def reset(self) -> None:
        """Restore the settings of a new stream."""
        _reset(self, write_through=True)


def _reset(stream: io.TextIOWrapper, *, write_through: bool) -> None:
    """Reconfigure a stream only if the program has done so: it is slow, and few programs do."""
    now = (stream.encoding, stream.errors, stream.line_buffering, stream.write_through)
    if now != ("utf-8", "backslashreplace", True, write_through):
        stream.reconfigure(
            encoding="utf-8", errors="backslashreplace", line_buffering=True, write_through=write_through
        )


class NoInput(io.TextIOBase):
    """Standard input of a program without a user at a keyboard: reading raises an error."""

    encoding = "utf-8"
    errors = "strict"
    mode = "r"
    name = "<stdin>"

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise NotImplementedError(NO_INPUT)

    read = readline = readlines = read1 = readinto = readinto1 = peek = __next__ = __iter__ = _refuse  # type: ignore

    @property
    def buffer(self) -> NoInput:
        """Return the stream of bytes, which refuses as well."""
        return self

    def readable(self) -> bool:
        """Return True, so that programs which ask first reach the clear error."""
        return True

    def fileno(self) -> int:
        """Return the descriptor that child processes inherit, which is at end of file."""
        return 0

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def refuse_input(*_: object, **__: object) -> NoReturn:
    """Stand in for `input`."""
    raise NotImplementedError(NO_INPUT)


def given_input() -> io.TextIOWrapper:
    """Return the stream for a run that was given its input, on descriptor 0."""
    return io.TextIOWrapper(_Given(io.FileIO(0, "r", closefd=False)), encoding="utf-8", errors="surrogateescape")


class _Given(io.BufferedReader):
    """Standard input from a file, under the name that Python gives it."""

    name = "<stdin>"  # type: ignore[assignment]


def end_of_input() -> int:
    """Open a file at its end, for descriptor 0."""
    try:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # a root without devices
        reader, writer = os.pipe()
        os.close(writer)
        return reader
