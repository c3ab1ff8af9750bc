"""The names that compiled code mentions: variables, attributes and modules alike, with those of the code inside it."""

from __future__ import annotations

from collections.abc import Iterable
from types import CodeType

# Code with one of these names may reach any variable without naming it.
REACHES_ALL = frozenset(
    (
        *("exec", "eval", "execfile", "globals", "locals", "vars", "__import__", "import_module", "runpy", "timeit"),
        *("__main__", "modules", "__globals__", "__builtins__", "f_globals", "f_locals", "f_back", "tb_frame"),
        *("_getframe", "_current_frames", "gi_frame", "cr_frame", "ag_frame", "inspect", "ctypes", "cffi"),
        *("get_objects", "get_referrers", "settrace", "setprofile", "doctest", "breakpoint", "get_ipython"),
    )
)
_STAR = ("*",)


def mentions_of(codes: Iterable[CodeType]) -> dict[str, None]:
    """Return all names in the order of their first mention."""
    names: dict[str, None] = {}
    waiting = list(codes)
    for code in waiting:  # the list grows meanwhile
        names.update(dict.fromkeys(code.co_names))
        for constant in code.co_consts:
            if type(constant) is CodeType:
                waiting.append(constant)
            elif type(constant) is tuple and constant == _STAR:  # `from module import *`
                names["exec"] = None
    return names
