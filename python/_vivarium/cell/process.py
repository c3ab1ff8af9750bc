"""Restores the state of the process after each run: everything in a session that is not a variable."""

from __future__ import annotations

# `signal` wraps this, and its enums take longer than everything else here
import _signal  # type: ignore[import-not-found]
import builtins
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable

from _vivarium.cell.order import Order
from _vivarium.cell.streams import ErrorOutput, NoInput, Output, end_of_input, given_input, refuse_input
from _vivarium.notebook.command import nameless_file
from _vivarium.values.text import attempt

_MODULES = ("builtins", "sys", "os", "io", "signal", "threading", "warnings", "linecache", "traceback", "time")
# What our own code needs. A program may replace `print` or `open` on purpose, so those are left alone.
_BUILTINS = (
    *(
        "__import__",
        "__build_class__",
        "compile",
        "eval",
        "exec",
        "getattr",
        "hasattr",
        "isinstance",
        "issubclass",
        "iter",
        "len",
    ),
    *(
        "next",
        "repr",
        "sorted",
        "type",
        "str",
        "int",
        "dict",
        "list",
        "tuple",
        "set",
        "bytes",
        "any",
        "all",
        "zip",
        "map",
        "id",
    ),
)
_input = builtins.input  # as Python has it
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_UNCATCHABLE = (signal.SIGKILL, signal.SIGSTOP)
_SIGNALS = tuple(int(one) for one in signal.valid_signals() if one not in _UNCATCHABLE)


class Process:
    """The state of a session's process at its start; `reset` restores it."""

    def __init__(self, workspace: str, stdout_fd: int, stderr_fd: int) -> None:
        self._workspace = workspace
        self._sources = (end_of_input(), stdout_fd, stderr_fd)
        self.note_descriptors()
        self._handlers = {one: handler for one in _SIGNALS if (handler := _signal.getsignal(one)) is not None}
        self._mask = _signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self._wakeup_fd = signal.set_wakeup_fd(-1)
        signal.set_wakeup_fd(self._wakeup_fd)
        self._umask = os.umask(0o077)
        os.umask(self._umask)
        self._recursion_limit = sys.getrecursionlimit()
        self._modules = {name: sys.modules[name] for name in _MODULES if name in sys.modules}
        self._builtins = {name: builtins.__dict__[name] for name in _BUILTINS}
        self._warnings = {
            name: getattr(warnings, name) for name in ("warn", "warn_explicit", "showwarning", "formatwarning")
        }
        self._stdin = NoInput()
        self.order = Order()
        self._stdout, self._stderr = self._new_stdout(), self._new_stderr()

    def note_descriptors(self) -> None:
        """Remember where 0, 1 and 2 point."""
        self._descriptors = {target: (fd, _file_of(fd)) for target, fd in enumerate(self._sources)}

    def begin_output(self) -> None:
        """Start a run: its first lines are sent at once."""
        attempt(self._stdout.begin)

    def give_input(self, text: str) -> None:
        """Let the run read this text: with `input`, from `sys.stdin`, and its child processes from descriptor 0."""
        fd = nameless_file(text.encode("utf-8", "surrogatepass"))
        os.dup2(fd, 0)
        os.close(fd)
        sys.stdin = sys.__stdin__ = given_input()  # type: ignore[misc]
        builtins.input = _input

    def flush(self) -> None:
        """Send buffered output, including that of a stream with which the program replaced ours."""
        theirs = (getattr(sys, "stdout", None), getattr(sys, "stderr", None))
        for stream in theirs:
            if stream is not self._stdout and stream is not self._stderr:
                attempt(lambda: stream.flush())  # type: ignore[union-attr]  # noqa: B023 - called at once
        attempt(self._stdout.flush)
        attempt(self._stderr.flush)

    def reset(self) -> None:
        """Undo what ordinary programs change. Each step runs even if another one fails."""
        steps: tuple[Callable[[], None], ...] = (
            *(self._reset_limits, self._reset_signals, self._reset_hooks, self.flush),
            *(self._reset_descriptors, self._reset_streams, self._reset_modules, self._reset_directory),
        )
        for step in steps:
            attempt(step)

    def _reset_limits(self) -> None:
        """Raise a lowered recursion limit, which would break our own code. A raised one stays."""
        if sys.getrecursionlimit() < self._recursion_limit:
            sys.setrecursionlimit(self._recursion_limit)
        os.umask(self._umask)

    def _reset_signals(self) -> None:
        for timer in _TIMERS:
            _signal.setitimer(timer, 0)
        handler_of = _signal.getsignal
        for one, handler in self._handlers.items():
            if handler_of(one) is not handler:
                attempt(lambda: _signal.signal(one, handler))  # noqa: B023  called at once
        attempt(lambda: _signal.set_wakeup_fd(self._wakeup_fd))
        _signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def _reset_hooks(self) -> None:
        sys.settrace(None)
        sys.setprofile(None)
        threading.settrace(None)  # type: ignore[arg-type]
        threading.setprofile(None)
        sys.displayhook, sys.excepthook = sys.__displayhook__, sys.__excepthook__
        sys.unraisablehook = sys.__unraisablehook__

    def _reset_descriptors(self) -> None:
        """Point 0, 1 and 2 back to their files, if our private copies of them are intact."""
        for target, (fd, file) in self._descriptors.items():
            if _file_of(target) != file and _file_of(fd) == file:
                os.dup2(fd, target)
            attempt(lambda: os.set_blocking(target, True))  # noqa: B023  called at once

    def _reset_streams(self) -> None:
        """Put our streams back; replace those that the program closed or detached."""
        sys.stdin = sys.__stdin__ = self._stdin  # type: ignore[assignment,misc]
        if builtins.input is _input:
            builtins.input = refuse_input
        sys.stdout = sys.stderr = self._stdin  # type: ignore[assignment]  # releases the program's streams, whose finalizers may close ours
        if not _is_usable(self._stdout):
            self._stdout = self._new_stdout()
        if not _is_usable(self._stderr):
            self._stderr = self._new_stderr()
        sys.stdout = sys.__stdout__ = self._stdout  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = self._stderr  # type: ignore[misc]
        self._stdout.reset()
        self._stderr.reset()
        self.order.begin()

    def _new_stdout(self) -> Output:
        return Output(1, "<stdout>", self.order)

    def _new_stderr(self) -> ErrorOutput:
        return ErrorOutput(2, "<stderr>", self.order, lambda: attempt(self._stdout.flush))

    def _reset_modules(self) -> None:
        """Put back modules and functions that Python itself needs."""
        modules, names = sys.modules, builtins.__dict__
        for name, module in self._modules.items():
            if modules.get(name) is not module:
                modules[name] = module
        for name, function in self._builtins.items():
            if names.get(name) is not function:
                names[name] = function
        for name, function in self._warnings.items():
            if not callable(getattr(warnings, name, None)):
                setattr(warnings, name, function)

    def _reset_directory(self) -> None:
        """Keep the current directory, unless it was removed."""
        try:
            os.getcwd()
        except OSError:
            os.chdir(self._workspace if os.path.isdir(self._workspace) else "/")


def _file_of(fd: int) -> tuple[int, ...] | None:
    """Return inode and device of the file behind a descriptor, or None if the descriptor is closed."""
    try:
        return os.fstat(fd)[1:3]
    except OSError:
        return None


def _is_usable(stream: Output | ErrorOutput) -> bool:
    try:
        return not stream.closed and stream.writable()
    except ValueError:  # detached
        return False
