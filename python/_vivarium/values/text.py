"""Turns any value into bounded, printable text, whatever the value's own methods do."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

NAME_LIMIT = 200
_SEQUENCES = {id(kind) for kind in (list, tuple, str, bytes, bytearray)}
_HASHED = {id(kind) for kind in (dict, set, frozenset)}
_type_name = type.__dict__["__name__"].__get__


def text_of(value: object, limit: int = 20_000, *, as_str: bool = False) -> str:
    """Return the `repr` (or `str`) of `value` in at most `limit` characters; raises nothing but KeyboardInterrupt."""
    convert = str if as_str else repr
    try:
        kind = type(value)
        # Beyond this size, decimal digits take quadratic time or raise.
        if kind is int and (bits := int.bit_length(value)) > 14_000:  # type: ignore[arg-type]
            return f"<int of {bits} bits>"
        shown, left_out = _head_of(value, kind, limit)
        text = plain(convert(shown))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a repr may raise anything, SystemExit included
        return f"<{type_name(value)} object; its {convert.__name__} raised {type_name(error)}>"[:limit]
    text = printable(text)
    if len(text) <= limit:
        return text
    mark = f"… ({len(value)} {left_out})" if left_out else f"… ({len(text) - limit} more characters)"  # type: ignore[arg-type]
    return text[: max(0, limit - len(mark))] + mark[:limit]


def type_name(value: object) -> str:
    """Return the name of the real type of `value`, whatever `__class__` or its metaclass say."""
    name = _type_name(type(value))
    return printable(plain(name))[:NAME_LIMIT]


def plain(text: str) -> str:
    """Return an exact `str`; a subclass may have methods of its own."""
    return text if type(text) is str else str.__str__(text)


def printable(text: str) -> str:
    """Return `text` without lone surrogates, which UTF-8 cannot encode."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def cut(text: str, limit: int) -> str:
    """Keep head and tail of `text` in at most `limit` characters, with a line that says how much was cut."""
    if len(text) <= limit:
        return text
    room = limit - 60  # the line in the middle
    head = text[: room // 2]
    tail = text[len(text) - room // 2 :]
    return f"{head}\n... {len(text) - len(head) - len(tail)} characters left out ...\n{tail}"


def attempt(action: Callable[[], object]) -> None:
    """Run `action` and ignore what it raises, except KeyboardInterrupt."""
    try:
        action()
    except KeyboardInterrupt:
        raise
    except BaseException:  # an object of the program may raise anything from any method
        return


def _head_of(value: object, kind: type, limit: int) -> tuple[object, str]:
    """Return the part of a large built-in container that fits into `limit`, and the word for its items."""
    if id(kind) in _SEQUENCES and len(value) > limit:  # type: ignore[arg-type]
        return value[: limit + 1], "items" if kind in (list, tuple) else "long"  # type: ignore[index]
    if id(kind) in _HASHED and len(value) > limit:  # type: ignore[arg-type]
        items = value.items() if kind is dict else value  # type: ignore[attr-defined]
        return kind(islice(items, limit + 1)), "items"  # type: ignore[call-overload]
    return value, ""
