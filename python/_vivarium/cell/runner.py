"""Runs prepared cells in one namespace that outlives each of them."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import ModuleType

from _vivarium.cell.loop import Loop
from _vivarium.cell.modules import WorkspaceModules
from _vivarium.cell.order import Order
from _vivarium.cell.process import Process
from _vivarium.cell.quitter import Quitter
from _vivarium.cell.source import CO_COROUTINE, Prepared
from _vivarium.cell.streams import refuse_input
from _vivarium.cell.trace import describe
from _vivarium.values.hints import NoReturn
from _vivarium.values.text import attempt

# A value that goes may warn, and names where it went: a coroutine that was not awaited must not name a file of ours.
_REPLACE = compile("names['_'] = value", "<_>", "exec")


class Runner:
    """The `__main__` module of a session, its event loop, and the process state around them."""

    def __init__(self, workspace: str, stdout_fd: int, stderr_fd: int) -> None:
        self._module = ModuleType("__main__")
        self._module.__dict__["__builtins__"] = builtins
        self._process = Process(workspace, stdout_fd, stderr_fd)
        self._modules = WorkspaceModules(workspace)
        self._modules.install()
        self._loop = Loop()
        self.around: Callable[[str, str], AbstractContextManager[None]] | None = None  # cell magics, if there are any
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
        return len(sys._current_frames()) > 1 or self._loop.has_tasks

    @property
    def order(self) -> Order:
        """Return what keeps the session's channels in order."""
        return self._process.order

    def run(
        self,
        prepared: Prepared,
        on_value: Callable[[object], None],
        *,
        imports: bool = True,
        stdin: str | None = None,
    ) -> None:
        """Run the pieces in order and raise what the program raises. Printed text may stay buffered until `flush`.

        With `imports` false, the code cannot import anything. `stdin` is what it can read as standard input.
        """
        pid = os.getpid()
        if imports:
            self._modules.refresh()
        self._process.begin_output()
        if stdin is not None:
            self._process.give_input(stdin)
        error: BaseException | None = None
        try:
            if prepared.around or prepared.needs_loop:
                self.run_within(prepared, on_value)
                return
            for code, is_expression in prepared.pieces:  # here, so that a program has as much of the stack as can be
                value = eval(code, self.namespace)
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

    def run_within(self, prepared: Prepared, on_value: Callable[[object], None]) -> None:
        """Run the pieces within the cell magics around them. May be called from within another cell."""
        with ExitStack() as stack:
            for name, argument in prepared.around:
                stack.enter_context(self.around(name, argument))  # type: ignore[misc]
            if prepared.needs_loop:
                self._loop.run(lambda: self._run_in_loop(prepared, on_value), [code for code, _ in prepared.pieces])
                return
            for code, is_expression in prepared.pieces:
                self._show(eval(code, self.namespace), is_expression, on_value)

    async def _run_in_loop(self, prepared: Prepared, on_value: Callable[[object], None]) -> None:
        """Run all pieces in one coroutine."""
        for code, is_expression in prepared.pieces:
            value = eval(code, self.namespace)
            self._show(await value if code.co_flags & CO_COROUTINE else value, is_expression, on_value)

    def _show(self, value: object, is_expression: bool, on_value: Callable[[object], None]) -> None:
        if is_expression and value is not None:
            self._keep(value)
            on_value(value)

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
            self._last = value
            exec(_REPLACE, {"names": self.namespace, "value": value})

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
