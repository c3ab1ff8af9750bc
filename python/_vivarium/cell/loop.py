"""The event loop of a session: one for all cells, which runs while a cell needs it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from types import CodeType, TracebackType

from _vivarium.values.hints import Any
from _vivarium.values.text import attempt

_frames = BaseException.__dict__["__traceback__"]
CANCEL_SECONDS = 1.0  # how long an interrupted coroutine may clean up


class Loop:
    """Runs cells that await, together with tasks that earlier cells started."""

    def __init__(self) -> None:
        self._loop: Any = None

    @property
    def has_tasks(self) -> bool:
        """Return whether tasks of earlier cells are not done yet."""
        if self._loop is None or self._loop.is_closed():
            return False
        import asyncio

        return bool(asyncio.all_tasks(self._loop))

    def run(self, run_cell: Callable[[], Coroutine[Any, Any, None]], codes: list[CodeType]) -> None:
        """Run a whole cell as one coroutine. `codes` are those of its pieces."""
        import contextvars

        loop = self._ready()
        context: list[contextvars.Context] = []

        async def drive() -> None:
            try:
                await run_cell()
            finally:
                context.append(contextvars.copy_context())

        task = loop.create_task(drive())
        task.add_done_callback(lambda _: loop.stop())
        try:
            while not task.done():  # a background task may stop the loop as well
                loop.run_forever()
        except BaseException as error:  # KeyboardInterrupt and SystemExit leave the loop as they are
            self._cancel(task)
            _frames.__set__(error, _from_cell(_frames.__get__(error), codes))
            raise error
        finally:
            for one in context:
                _take_over(one)
        task.result()

    def _ready(self) -> Any:
        """Return the loop. It uses poll, because forked copies would share an epoll descriptor."""
        import asyncio
        import selectors

        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.SelectorEventLoop(selectors.PollSelector())
            asyncio.set_event_loop(self._loop)
        return self._loop

    def _cancel(self, task: Any) -> None:
        """Let an interrupted task run its `finally` blocks for a moment."""
        import asyncio

        if not task.done():
            task.cancel()
            attempt(lambda: self._loop.run_until_complete(asyncio.wait({task}, timeout=CANCEL_SECONDS)))
        if task.done() and not task.cancelled():
            task.exception()  # marks it as retrieved, so that the loop does not warn about it later


def _take_over(context: Any) -> None:
    """Keep what the cell has set for its context (the precision of `decimal`, say): a task has a copy of its own."""
    for variable, value in context.items():
        if variable.get(context) is not value:
            variable.set(value)


def _from_cell(frames: TracebackType | None, codes: list[CodeType]) -> TracebackType | None:
    """Return the traceback from the frame of the cell on, without the frames of the event loop above it."""
    found = frames
    while found is not None and found.tb_frame.f_code not in codes:
        found = found.tb_next
    return found or frames
