"""Runs prepared cells in one namespace that outlives each of them."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import CodeType, ModuleType, TracebackType

from _vivarium.cell.modules import WorkspaceModules
from _vivarium.cell.order import Order
from _vivarium.cell.process import Process
from _vivarium.cell.source import CO_COROUTINE, Prepared
from _vivarium.cell.streams import refuse_input
from _vivarium.cell.trace import describe
from _vivarium.values.hints import Any, NoReturn
from _vivarium.values.text import attempt

_frames = BaseException.__dict__["__traceback__"]
CANCEL_SECONDS = 1.0  # how long an interrupted coroutine may clean up


class Runner:
    """The `__main__` module of a session, its event loop, and the process state around them."""

    def __init__(self, workspace: str, stdout_fd: int, stderr_fd: int) -> None:
        self._module = ModuleType("__main__")
        self._module.__dict__["__builtins__"] = builtins
        self._process = Process(workspace, stdout_fd, stderr_fd)
        self._modules = WorkspaceModules(workspace)
        self._modules.install()
        self._loop: Any = None
        self._last: object = None
        os.register_at_fork(before=self.flush)  # otherwise a child would write our buffered text again
        self.reset_process()

    @property
    def namespace(self) -> dict[str, object]:
        """Return the variables of the session."""
        return self._module.__dict__

    @property
    def own_modules(self) -> frozenset[str]:
        """Return the names of the modules that came from the workspace."""
        return self._modules.names

    @property
    def has_company(self) -> bool:
        """Return whether threads of the program, or tasks that it left to run, may change variables meanwhile."""
        return len(sys._current_frames()) > 1 or (self._loop is not None and self._has_tasks())

    @property
    def order(self) -> Order:
        """Return what keeps the session's channels in order."""
        return self._process.order

    def run(self, prepared: Prepared, on_value: Callable[[object], None], *, imports: bool = True) -> None:
        """Run the pieces in order and raise what the program raises. Printed text may stay buffered until `flush`.

        With `imports` false, the code cannot import anything.
        """
        pid = os.getpid()
        if imports:
            self._modules.refresh()
        self._process.begin_output()
        error: BaseException | None = None
        try:
            for code, is_expression in prepared.pieces:
                value = eval(code, self.namespace)
                if code.co_flags & CO_COROUTINE:
                    value = self._await(value, code)
                if is_expression and value is not None:
                    self._keep(value)
                    on_value(value)
        except BaseException as raised:
            error = raised
            raise
        finally:
            sys.settrace(None)  # a program may trace its own code, not the steps after it
            if os.getpid() != pid:
                self._end_child(error)
            error = None

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """Make a run that leaves `_` unchanged."""
        names, last = self.namespace, self._last
        kept = {"_": names["_"]} if "_" in names else {}
        try:
            yield
        finally:
            self._last = last
            names.pop("_", None)
            names.update(kept)

    def take_channels(self) -> None:
        """Adopt the present descriptors: they now belong to a session."""
        self._process.note_descriptors()

    def flush(self) -> None:
        """Send what the program has printed so far."""
        self._process.flush()

    def install_guards(self) -> None:
        """Disable `input`, and make `exit` and `quit` end only the cell."""
        builtins.input = refuse_input
        builtins.exit = builtins.quit = Quitter()  # type: ignore[assignment]

    def reset_process(self) -> None:
        """Undo what ordinary programs leave behind in the process: handlers, timers, streams, descriptors."""
        sys.modules["__main__"] = self._module
        if self.namespace.get("__builtins__") is not builtins:
            self.namespace["__builtins__"] = builtins
        self._process.reset()

    def _keep(self, value: object) -> None:
        """Set `_` as the interactive interpreter does, unless the program uses that name itself."""
        if "_" not in self.namespace or self.namespace["_"] is self._last:
            self.namespace["_"] = self._last = value

    def _end_child(self, error: BaseException | None) -> NoReturn:
        """End a process that the program forked, once it reaches the end of its cell, as a script would end."""
        code = 0
        if isinstance(error, SystemExit):
            wish = SystemExit.__dict__["code"].__get__(error)
            code = wish if type(wish) is int else int(wish is not None)
        elif error is not None:
            code = 1
            attempt(lambda: sys.stderr.write(describe(error)["traceback"]))
        try:
            self.flush()
        finally:
            os._exit(code & 0xFF)

    def _await(self, coroutine: Coroutine[Any, Any, object], code: CodeType) -> object:
        """Run a piece that awaits, together with tasks that earlier cells started."""
        loop = self._event_loop()
        task = loop.create_task(coroutine)
        task.add_done_callback(lambda _: loop.stop())
        try:
            while not task.done():  # a background task may stop the loop as well
                loop.run_forever()
        except BaseException as error:  # KeyboardInterrupt and SystemExit leave the loop as they are
            self._cancel(task)
            _frames.__set__(error, _from_cell(_frames.__get__(error), code))
            raise error
        return task.result()

    def _event_loop(self) -> Any:
        """Return the session's loop. It uses poll, because forked copies would share an epoll descriptor."""
        import asyncio
        import selectors

        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.SelectorEventLoop(selectors.PollSelector())
            asyncio.set_event_loop(self._loop)
        return self._loop

    def _has_tasks(self) -> bool:
        import asyncio

        return not self._loop.is_closed() and bool(asyncio.all_tasks(self._loop))

    def _cancel(self, task: Any) -> None:
        """Let an interrupted task run its `finally` blocks for a moment."""
        import asyncio

        if not task.done():
            task.cancel()
            attempt(lambda: self._loop.run_until_complete(asyncio.wait({task}, timeout=CANCEL_SECONDS)))
        if task.done() and not task.cancelled():
            task.exception()  # marks it as retrieved, so that the loop does not warn about it later


class Quitter:
    """`exit` and `quit`: they end the cell and leave the streams open."""

    def __call__(self, code: object = None) -> NoReturn:
        """End the cell."""
        raise SystemExit(code)

    def __repr__(self) -> str:
        """Return a hint on how to use it."""
        return "Use exit() or quit() to end the cell"


def _from_cell(frames: TracebackType | None, code: CodeType) -> TracebackType | None:
    """Return the traceback from the frame of `code` on, without the frames of the event loop above it."""
    found = frames
    while found is not None and found.tb_frame.f_code is not code:
        found = found.tb_next
    return found or frames
