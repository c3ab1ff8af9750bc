"""What `get_ipython()` gives: an object that runs magics and shell commands in the session.

Only the program gets it. A library that asks gets None, as outside of IPython: what it would do with a front end
(widgets, formatters, hooks for windows) is not there, and it prints plain text instead.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from _vivarium.inside.pip.command import other_installer, pip
from _vivarium.notebook import command, packages, syntax
from _vivarium.notebook.capture import capturing
from _vivarium.notebook.expansion import expand
from _vivarium.notebook.lines import SList
from _vivarium.notebook.magics import files, programs, registry, settings, shell, timing, variables  # noqa: F401
from _vivarium.notebook.magics.registry import Call, Place, UsageError
from _vivarium.notebook.magics.timing import Stopwatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from typing import Any  # slow to load

_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3")
_ON_BEHALF = "/IPython/core/magic.py"  # its `register_line_magic` asks for the program that calls it
HINT = (
    "get_ipython() here has run_line_magic, run_cell_magic, system, getoutput, run_cell, ev, ex, user_ns and a few more"
)


class Result:
    """What `run_cell` gives."""

    def __init__(self) -> None:
        self.result: object = None
        self.error_in_exec: BaseException | None = None
        self.error_before_exec: BaseException | None = None

    @property
    def success(self) -> bool:
        """Return whether the cell ran to its end."""
        return self.error_in_exec is None and self.error_before_exec is None

    def raise_error(self) -> None:
        """Raise what the cell raised."""
        error = self.error_before_exec or self.error_in_exec
        if error is not None:
            raise error


class ZMQInteractiveShell:
    """The part of IPython's shell that programs use. By this name they know that figures are shown inline."""

    def __init__(
        self,
        user_ns: dict[str, Any],
        publisher: Any,
        *,
        run: Callable[[str, Result], None],
        history: Callable[[], list[str]],
    ) -> None:
        self.user_ns = self.user_global_ns = user_ns
        self.config: dict[str, Any] = {"IPKernelApp": {}}  # by which programs know a notebook as well
        self.last_directory: str | None = None
        self.history = history
        self._publisher = publisher
        self._run = run

    def __getattr__(self, name: str) -> Any:
        """Say what there is."""
        raise AttributeError(f"{name!r}: {HINT}", name=name, obj=self)

    @property
    def is_replaced(self) -> bool:
        """Return whether the program has replaced `system`: then its function answers all commands."""
        return "system" in self.__dict__

    def system(self, cmd: str) -> None:
        """Run a command line; its output goes where that of `print` goes, its exit code to `_exit_code`."""
        frame = sys._getframe(1)
        self.system_expanded(expand(cmd, frame.f_globals, frame.f_locals))

    system_piped = system_raw = system

    def system_expanded(self, line: str) -> None:
        """Run a command line as it is. `pip` and its like are answered here."""
        if self.is_replaced:
            self.__dict__["system"](line)
            return
        wish = packages.wish_in(line)
        if wish is None:
            self.user_ns["_exit_code"] = command.run(command.shell_command(line))
            return
        name, arguments, rest = wish
        code = pip(arguments) if name == "pip" else other_installer(name, arguments)
        self.user_ns["_exit_code"] = code
        if rest and code == 0:
            self.system_expanded(rest)

    def getoutput(self, cmd: str, split: bool = True) -> Any:
        """Run a command line and return its output, by default as a list of lines."""
        frame = sys._getframe(1)
        return self.getoutput_expanded(expand(cmd, frame.f_globals, frame.f_locals), split)

    def getoutput_expanded(self, line: str, split: bool = True) -> Any:
        """Run a command line as it is and return its output."""
        if self.is_replaced:
            self.__dict__["system"](line)
            return SList() if split else ""
        out, _, self.user_ns["_exit_code"] = command.collect(command.shell_command(line))
        return SList(out.splitlines()) if split else out

    def run_line_magic(self, magic_name: str, line: str = "", _stack_depth: int = 1) -> Any:
        """Run a line magic."""
        return self._magic("line", magic_name, line, None, _place(sys._getframe(_stack_depth)))

    def run_cell_magic(self, magic_name: str, line: str, cell: str) -> Any:
        """Run a cell magic."""
        return self._magic("cell", magic_name, line, cell, _place(sys._getframe(1)))

    def magic(self, arg_s: str) -> Any:
        """Run a line magic that is written as one text."""
        name, _, line = arg_s.strip().lstrip("%").partition(" ")
        return self._magic("line", name, line, None, _place(sys._getframe(1)))

    def run_cell(self, raw_cell: str, *_: Any, **__: Any) -> Result:
        """Run code as a cell, with notebook syntax. Its error is in the result."""
        result = Result()
        try:
            self._run(raw_cell, result)
        except SyntaxError as error:
            result.error_before_exec = error
        except Exception as error:
            result.error_in_exec = error
        if not result.success:
            error = result.error_before_exec or result.error_in_exec
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return result

    def ev(self, expr: str) -> Any:
        """Return the value of an expression."""
        return eval(expr, self.user_ns)

    def ex(self, cmd: str) -> None:
        """Run statements."""
        exec(cmd, self.user_ns)

    def push(self, values: dict[str, Any]) -> None:
        """Set variables."""
        self.user_ns.update(values)

    def var_expand(self, cmd: str) -> str:
        """Return a text with the values of its `{expressions}` and `$names`."""
        return expand(cmd, self.user_ns)

    def register_magic_function(self, func: Any, magic_kind: str = "line", magic_name: str | None = None) -> None:
        """Make a function a magic. It takes the line, and for a cell magic the cell."""

        def call_it(call: Call) -> Any:
            return func(call.argument) if call.body is None else func(call.argument, call.body)

        call_it.__doc__ = func.__doc__
        kinds = ("line", "cell") if magic_kind == "line_cell" else (magic_kind,)
        registry.magic(magic_name or func.__name__, kinds=kinds)(call_it)

    def find_line_magic(self, name: str) -> Any:
        """Return the function of a line magic, or None."""
        return registry.find("line", name)

    def magic_named(self, name: str) -> Any:
        """Return the magic of this name, or None."""
        return registry.find("line", name) or registry.find("cell", name)

    def parse(self, text: str, filename: str) -> ast.Module:
        """Return the tree of code that may have notebook syntax in it."""
        import ast as trees

        return syntax.parse_notebook(text, lambda code: trees.parse(code, filename), checked(filename, text)).tree

    def publish(self, bundle: dict[str, Any]) -> None:
        """Show content of these MIME types."""
        self._publisher.publish_bundle(bundle)

    @contextmanager
    def around(self, name: str, argument: str) -> Iterator[None]:
        """Do what a cell magic does around its cell."""
        if name == "time":
            watch = Stopwatch()
            try:
                yield
            finally:
                watch.tell()
            return
        words = shlex.split(argument)
        options = {word for word in words if word.startswith("--")}
        names = [word for word in words if word not in options]
        strange = options - {"--no-stdout", "--no-stderr", "--no-display"}
        if strange or len(names) > 1:
            raise UsageError("%%capture takes one name, --no-stdout, --no-stderr and --no-display")
        kinds = {kind: f"--no-{kind}" not in options for kind in ("stdout", "stderr", "display")}
        with capturing(self._publisher, **kinds) as captured:
            yield
        if names:
            self.user_ns[names[0]] = captured

    def _magic(self, kind: str, name: str, line: str, body: str | None, place: Place) -> Any:
        found = registry.find(kind, name)
        if found is None:
            mark = "%" if kind == "line" else "%%"
            raise UsageError(f"{mark}{name} is not known here; there are {registry.listing()}")
        argument = expand(line, place.names, place.local) if found.expands else line
        return found.function(Call(self, name, argument, body, place))


def checked(filename: str, code: str) -> Callable[[syntax.Line], str]:
    """Return what gives the Python code for notebook syntax, and refuses magics that are not known.

    A cell may define a magic and use it. Then it is looked for when it is called.
    """
    may_define = re.search(r"\bregister_(?:\w+_)?magic|\bregister_magics\b", code) is not None

    def emit(line: syntax.Line) -> str:
        where = (filename, line.number, 1, None)
        if line.kind == "misplaced":
            raise SyntaxError(f"%%{line.name} must be in the first line of its cell", where)
        if line.kind == "cell" and line.name == "time" and line.argument:
            raise SyntaxError("%%time has nothing behind it: the code begins in the next line", where)
        if line.kind in ("line", "cell") and not may_define and registry.find(line.kind, line.name) is None:
            mark, other, wrong = ("%", "cell", "%%") if line.kind == "line" else ("%%", "line", "%")
            is_there = registry.find(other, line.name) is not None
            hint = f"there is {wrong}{line.name}" if is_there else "write it in plain Python"
            message = f"{mark}{line.name[:50]} is not known here; {hint}. There are {registry.listing()}"
            raise SyntaxError(message, where)
        return syntax.as_python(line)

    return emit


def install(namespace: Any, interpreter: ZMQInteractiveShell) -> None:
    """Make `get_ipython` a builtin."""

    def get_ipython() -> ZMQInteractiveShell | None:
        """Return the interpreter of this session to a program, and None to a library."""
        return None if _is_library(sys._getframe(1).f_globals) else interpreter

    get_ipython.__qualname__ = "get_ipython"  # as help() and tracebacks name it
    namespace.get_ipython = get_ipython


def _is_library(names: dict[str, Any]) -> bool:
    file = names.get("__file__")
    if not isinstance(file, str) or file.endswith(_ON_BEHALF):
        return False
    return any(part in file for part in _LIBRARIES)


def _place(frame: Any) -> Place:
    return Place(frame.f_code.co_filename, frame.f_lineno, frame.f_globals, frame.f_locals)
