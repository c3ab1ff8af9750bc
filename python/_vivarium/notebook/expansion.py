"""Puts values into commands, as IPython does: `{expression}`, `$name`, and `{{` and `$$` for the characters themselves.

This file needs nothing but the standard library: it is also sent into sessions that analyze code.
"""

from __future__ import annotations

import re

# without the templates of `string`, which take long to load
from _string import formatter_parser  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # slow to load

# A name behind `$`, outside of single quotes.
_DOLLAR = r"\$(?P<kept>\$)?(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?=(?:[^']*'[^']*')*[^']*$)"
_CONVERSIONS = {None: lambda value: value, "s": str, "r": repr, "a": ascii}


def expand(text: str, names: dict[str, Any], local: dict[str, Any] | None = None) -> str:
    """Return the text with the values of its expressions. If one of them fails, braces mean what they mean to a shell.

    A `$name` that is no variable is left to the shell.
    """
    if "{" not in text and "$" not in text:
        return text
    try:
        fields = list(formatter_parser(text))
    except ValueError:  # not in balance
        fields = [(text, None, None, None)]
    local = names if local is None else local
    try:
        return "".join(_dollars(plain, names, local) + _value(field, names, local) for plain, *field in fields)
    except Exception:
        return _dollars(text, names, local)


def expressions_in(text: str) -> list[str]:
    """Return the expressions in braces, which `expand` evaluates if they can be."""
    try:
        return [_expression(field, spec) for _, field, spec, _ in formatter_parser(text) if field]
    except ValueError:
        return []


def _expression(field: str, spec: str | None) -> str:
    return f"{field}:{spec}" if spec else field


def _value(field: list[Any], names: dict[str, Any], local: dict[str, Any]) -> str:
    name, spec, conversion = field
    if name is None:
        return ""
    value = eval(_expression(name, spec), names, local)
    return format(_CONVERSIONS[conversion](value), "")


def _dollars(text: str, names: dict[str, Any], local: dict[str, Any]) -> str:
    def value_of(found: re.Match[str]) -> str:
        if found["kept"]:
            return "$" + found["name"]
        first, *rest = found["name"].split(".")
        if first not in local and first not in names:
            return found[0]
        try:
            value = local[first] if first in local else names[first]
            for attribute in rest:
                value = getattr(value, attribute)
            return str(value)
        except Exception:
            return found[0]

    return re.sub(_DOLLAR, value_of, text) if "$" in text else text
