"""Parses and compiles proposed code with the interpreter that will run it. Every problem becomes an issue."""

from __future__ import annotations

import ast
import re
import warnings
from typing import TypedDict

from .notebook import parse_cell

MAX_CHARACTERS = 500_000


class Issue(TypedDict):
    """Why the code cannot run; `line` is None if it is not known."""

    line: int | None
    message: str


def parse(code: str) -> tuple[ast.Module | None, list[Issue]]:
    """Return the tree of `code`, or None and the issues."""
    if len(code) > MAX_CHARACTERS:
        return None, [_issue(None, f"the code is longer than {MAX_CHARACTERS} characters")]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = parse_cell(code, _tree)
            compile(tree, "<code>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError as error:
        return None, [_of_syntax_error(code, error)]
    except (RecursionError, MemoryError):
        return None, [_issue(None, "the code is nested too deeply to be compiled")]
    except ValueError:
        return None, [_of_characters(code)]
    return tree, []


def _tree(code: str) -> ast.Module:
    flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    return compile(code, "<code>", "exec", flags, dont_inherit=True)


def _of_syntax_error(code: str, error: SyntaxError) -> Issue:
    if "null bytes" in error.msg or "surrogates" in error.msg:
        return _of_characters(code)
    return _issue(error.lineno, error.msg[:500])


def _of_characters(code: str) -> Issue:
    """Return the issue for a character that source code cannot contain."""
    found = re.search("[\0\ud800-\udfff]", code)
    if found is None:
        return _issue(None, "the code cannot be compiled")
    what = "null bytes" if found[0] == "\0" else "lone surrogates"
    line = 1 + len(re.findall(r"\r\n|\r|\n", code[: found.start()]))
    return _issue(line, f"source code cannot contain {what}")


def _issue(line: int | None, message: str) -> Issue:
    """Return an issue. A message may quote a surrogate, which cannot be sent."""
    return {"line": line, "message": message.encode("utf-8", "replace").decode()}
