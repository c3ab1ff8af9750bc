"""Turns the text of a cell into code objects that keep its own line numbers."""

from __future__ import annotations
import __future__ as future

import ast
import linecache
import re
from collections import namedtuple
from types import CodeType

from _vivarium.notebook import interpreter, syntax
from _vivarium.values.text import text_of, type_name

KEPT_CELLS = 500  # cells whose source stays available to tracebacks and `inspect`
CO_COROUTINE = 0x80  # `inspect.CO_COROUTINE`; importing `inspect` is slow
FUTURE_FLAGS = sum({getattr(future, name).compiler_flag for name in future.all_feature_names})
_remembered: dict[str, None] = {}  # in order of age
# What only works in a running event loop, and what only works outside of one.
_WITHIN = ("create_task", "ensure_future", "get_running_loop")
_OUTSIDE = r"\b(?:asyncio|anyio|trio|uvloop)\s*\.\s*run\b|\bimport run\b|\b(?:run_until_complete|run_forever|Runner)\b"


class Prepared(namedtuple("Prepared", ("pieces", "flags", "tree", "around", "needs_loop"))):
    """A cell ready to run, its syntax tree, the magics around it, and whether it runs in the session's event loop."""

    __slots__ = ()


def prepare(code: str, *, filename: str, echo: str, flags: int) -> Prepared:
    """Compile `code`. Every problem with it is raised as a SyntaxError.

    `echo` ("all", "last" or "none") chooses the top-level expressions that become pieces of their own; `flags` are the
    `__future__` flags of earlier cells, and `Prepared.flags` those for later ones.
    """
    _remember(filename, code)
    try:
        tree, around, _ = syntax.parse_notebook(
            code, lambda text: _parse_python(text, filename, flags), interpreter.checked(filename, code)
        )
        flags = _future_flags(tree, filename, flags)
        pieces = [_compile(node, filename, flags) for node in _split(tree, code, echo)]
    except (SyntaxError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise _syntax_error(error, code, filename) from None
    return Prepared(pieces, flags, tree, around, _needs_loop(pieces, code))


def cells() -> list[str]:
    """Return the text of the cells whose source is still available, the oldest first."""
    found = [linecache.cache.get(filename) for filename in _remembered if filename.startswith("<cell")]
    return ["".join(entry[2]).removesuffix("\n") for entry in found if entry is not None and len(entry) > 1]


def _remember(filename: str, code: str) -> None:
    """Let tracebacks and `inspect.getsource` find the source of this cell and the last few hundred."""
    lines = [line + "\n" for line in syntax.lines_of(code)]
    linecache.cache[filename] = (len(code), None, lines, filename)
    _remembered.pop(filename, None)
    _remembered[filename] = None
    while len(_remembered) > KEPT_CELLS:
        oldest = next(iter(_remembered))
        del _remembered[oldest]
        linecache.cache.pop(oldest, None)


def _parse_python(code: str, filename: str, flags: int) -> ast.Module:
    """Parse `code` as it is or, if all of it is indented, as the body of a block. Lines and strings stay the same."""
    try:
        return _ast(code, filename, flags)
    except IndentationError:
        if not re.match(r"(?:[ \t\f]*(?:#[^\r\n]*)?(?:\r\n?|\n))*[ \t]+[^\s#]", code):
            raise
        try:
            block = _ast("if 1:\n" + code, filename, flags)
        except SyntaxError as error:
            raise _one_line_up(error) from None
        if len(block.body) != 1 or block.body[0].orelse:  # type: ignore[attr-defined]
            raise
        tree = ast.Module(body=block.body[0].body, type_ignores=[])  # type: ignore[attr-defined]
        return ast.increment_lineno(tree, -1)


def _ast(code: str, filename: str, flags: int) -> ast.Module:
    return compile(code, filename, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)


def _one_line_up(error: SyntaxError) -> SyntaxError:
    """Return the error with line numbers that do not count the line put above the code."""
    message = re.sub(r"\bline (\d+)", lambda found: f"line {int(found[1]) - 1}", error.msg)
    end = error.end_lineno - 1 if error.end_lineno else error.end_lineno
    where = (error.filename, (error.lineno or 2) - 1, error.offset, error.text, end, error.end_offset)
    return type(error)(message, where)


def _future_flags(tree: ast.Module, filename: str, flags: int) -> int:
    """Return `flags` plus the `__future__` features of the cell. Compiling checks that it may use them."""
    if not any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body):
        return flags
    whole = compile(tree, filename, "exec", flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    return flags | (whole.co_flags & FUTURE_FLAGS)


def _split(tree: ast.Module, code: str, echo: str) -> list[ast.Module | ast.Expression]:
    """Split the module at the expressions to echo. Statements between two of them stay together."""
    last = tree.body[-1] if echo == "last" and tree.body else None
    parts: list[ast.Module | ast.Expression] = []
    for node in tree.body:
        if isinstance(node, ast.Expr) and (echo == "all" or (node is last and not _is_silenced(node, code))):
            parts.append(ast.Expression(node.value))
        elif parts and isinstance(parts[-1], ast.Module):
            parts[-1].body.append(node)
        else:
            parts.append(ast.Module(body=[node], type_ignores=[]))
    return parts


def _is_silenced(node: ast.stmt, code: str) -> bool:
    """Return whether a semicolon follows the statement."""
    if ";" not in code:
        return False
    line = syntax.lines_of(code)[node.end_lineno - 1]  # type: ignore[operator]
    return line.encode("utf-8", "surrogatepass")[node.end_col_offset :].lstrip().startswith(b";")


def _compile(part: ast.Module | ast.Expression, filename: str, flags: int) -> tuple[CodeType, bool]:
    is_expression = isinstance(part, ast.Expression)
    mode = "eval" if is_expression else "exec"
    flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    return compile(part, filename, mode, flags, dont_inherit=True), is_expression


def _needs_loop(pieces: list[tuple[CodeType, bool]], code: str) -> bool:
    """Return whether the cell awaits, or starts tasks and no event loop of its own."""
    if any(piece.co_flags & CO_COROUTINE for piece, _ in pieces):
        return True
    return any(name in code for name in _WITHIN) and re.search(_OUTSIDE, code) is None


def _syntax_error(error: Exception, code: str, filename: str) -> SyntaxError:
    """Return a SyntaxError for another exception of the parser or compiler."""
    if isinstance(error, (RecursionError, MemoryError)):
        return SyntaxError("the code is nested too deeply to be compiled", (filename, 1, None, None))
    for number, line in enumerate(syntax.lines_of(code), 1):
        for position, character in enumerate(line, 1):
            if character == "\0" or "\ud800" <= character <= "\udfff":
                what = "null bytes" if character == "\0" else "lone surrogates"
                return SyntaxError(f"source code cannot contain {what}", (filename, number, position, None))
    return SyntaxError(f"{type_name(error)}: {text_of(error, 500, as_str=True)}", (filename, 1, None, None))
