"""Writes values into a layout as IPython does: one function for each built-in type that has a form of its own."""

from __future__ import annotations

import os
import re
from collections import Counter, OrderedDict, UserList, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, MappingProxyType, SimpleNamespace

from _vivarium.display.pretty.layout import Layout
from _vivarium.values.hints import Any
from _vivarium.values.text import plain, printable, text_of

MAX_ITEMS = 1000  # of one container
_FLAGS = ("IGNORECASE", "LOCALE", "MULTILINE", "DOTALL", "UNICODE", "VERBOSE", "DEBUG")
_SIMPLE = {id(kind) for kind in (int, float, complex, bool, str, bytes, type(None))}  # `repr` is all there is to them
_bases = type.__dict__["__mro__"].__get__
_members = type.__dict__["__dict__"].__get__


def pretty_text(value: object, limit: int) -> str:
    """Return the text of a value in at most `limit` characters. A longer one is cut as `text_of` does."""
    if id(type(value)) in _SIMPLE:
        return text_of(value, limit)
    try:
        printer = Printer(limit)
        printer.pretty(value)
        return printable(printer.getvalue())
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException:  # too long, or code of the program raised: `text_of` tells which
        return text_of(value, limit)


class Printer(Layout):
    """A layout that knows how to write values."""

    verbose = False
    max_seq_length = MAX_ITEMS

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._limit = limit
        self.stack: list[int] = []  # values that are being written, the outermost first

    def pretty(self, value: Any) -> None:
        """Write a value."""
        is_cycle = id(value) in self.stack
        self.stack.append(id(value))
        self.begin_group()
        try:
            self._write(value, is_cycle)
        finally:
            self.end_group()
            self.stack.pop()

    def _write(self, value: Any, is_cycle: bool) -> None:
        for base in _bases(type(value)):
            known = _PRINTERS.get(base)
            if known is not None:
                return known(value, self, is_cycle)
            members = _members(base)
            if callable(members.get("_repr_pretty_")):
                return base._repr_pretty_(value, self, is_cycle)
            if base is not object and callable(getattr(base, "__repr__", None)) and "__repr__" in members:
                return self.lines(repr(value))
        with self.group(1, "<", ">"):
            _class(type(value), self, False)
            self.text(f" at 0x{id(value):x}{' ...' if is_cycle else ''}")

    def lines(self, text: str) -> None:
        """Write text whose lines keep to the indentation of the first."""
        with self.group():
            for number, line in enumerate(plain(text).splitlines()):
                if number:
                    self.break_()
                self.text(line)

    def items(self, opening: str, values: Iterable[Callable[[], None]], closing: str) -> None:
        """Write what the functions write, with commas between."""
        with self.group(len(opening), opening, closing):
            for number, write in enumerate(values):
                if number:
                    self.text(",")
                    self.breakable()
                if number >= MAX_ITEMS:
                    self.text("...")
                    return
                write()

    def call(self, name: str, *values: Any, **options: Any) -> None:
        """Write a call that would make the value."""

        def keyword(key: str, value: Any) -> None:
            with self.group(len(key) + 1, f"{key}="):
                self.pretty(value)

        given = [lambda value=value: self.pretty(value) for value in values]
        named = [lambda key=key, value=value: keyword(key, value) for key, value in options.items()]
        with self.group():
            self.items(f"{name}(", [*given, *named], ")")


def _in_brackets(opening: str, closing: str) -> Callable[[Any, Printer, bool], None]:
    def write(value: Any, printer: Printer, is_cycle: bool) -> None:
        if is_cycle:
            return printer.text(f"{opening}...{closing}")
        comma = "," if len(value) == 1 and isinstance(value, tuple) else ""
        printer.items(opening, _each(printer, value), comma + closing)

    return write


def _in_braces(opening: str, closing: str) -> Callable[[Any, Printer, bool], None]:
    def write(value: Any, printer: Printer, is_cycle: bool) -> None:
        if is_cycle:
            return printer.text(f"{opening}...{closing}")
        if not value:
            return printer.text(f"{type(value).__name__}()")
        printer.items(opening, _each(printer, value if len(value) >= MAX_ITEMS else _sorted(value)), closing)

    return write


def _mapping(opening: str, closing: str) -> Callable[[Any, Printer, bool], None]:
    def write(value: Any, printer: Printer, is_cycle: bool) -> None:
        def entry(key: Any) -> None:
            printer.pretty(key)
            printer.text(": ")
            printer.pretty(value[key])

        if is_cycle:
            return printer.text("{...}")
        printer.items(opening, (lambda key=key: entry(key) for key in value), closing)

    return write


def _each(printer: Printer, values: Iterable[Any]) -> Iterator[Callable[[], None]]:
    return (lambda value=value: printer.pretty(value) for value in values)


def _sorted(values: Any) -> list[Any]:
    for key in (None, str):  # by their texts, if they have no order
        try:
            return sorted(values, key=key)
        except Exception:
            continue
    return list(values)


def _called(arguments: Callable[[Any], tuple[list[Any], dict[str, Any]]]) -> Callable[[Any, Printer, bool], None]:
    def write(value: Any, printer: Printer, is_cycle: bool) -> None:
        name = type(value).__name__
        if is_cycle:
            return printer.text(f"{name}(...)")
        given, named = arguments(value)
        printer.call(name, *given, **named)

    return write


def _namespace(value: SimpleNamespace, printer: Printer, is_cycle: bool) -> None:
    if is_cycle:
        return printer.text("namespace(...)")
    printer.call("namespace", **vars(value))


def _class(value: type, printer: Printer, _: bool) -> None:
    maker = next(base for base in _bases(type(value)) if "__repr__" in _members(base))
    if maker is not type:
        return printer.lines(repr(value))
    module = getattr(value, "__module__", None)
    name = value.__qualname__
    printer.text(name if module in (None, "builtins") else f"{module}.{name}")


def _function(value: Any, printer: Printer, _: bool) -> None:
    import inspect

    name = getattr(value, "__qualname__", value.__name__)
    if value.__module__ and value.__module__ != "builtins":
        name = f"{value.__module__}.{name}"
    try:
        name += str(inspect.signature(value))
    except ValueError:
        pass  # built in, without one
    printer.text(f"<function {name}>")


def _exception(value: BaseException, printer: Printer, _: bool) -> None:
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    printer.call(name, *value.args)


def _pattern(value: re.Pattern[Any], printer: Printer, _: bool) -> None:
    flags = "|".join(f"re.{name}" for name in _FLAGS if value.flags & getattr(re, name))
    raw = "r" + repr(value.pattern).replace("\\\\", "\\")
    with printer.group():
        printer.items("re.compile(", [lambda text=text: printer.lines(text) for text in (raw, flags) if text], ")")


def _super(value: Any, printer: Printer, _: bool) -> None:
    printer.items("<super: ", _each(printer, (value.__thisclass__, value.__self__)), ">")


_PRINTERS: dict[type, Callable[[Any, Printer, bool], None]] = {
    tuple: _in_brackets("(", ")"),
    list: _in_brackets("[", "]"),
    dict: _mapping("{", "}"),
    set: _in_braces("{", "}"),
    frozenset: _in_braces("frozenset({", "})"),
    MappingProxyType: _mapping("mappingproxy({", "})"),
    type(os.environ): _mapping("environ{", "}"),
    defaultdict: _called(lambda value: ([value.default_factory, dict(value)], {})),
    OrderedDict: _called(lambda value: ([list(value.items())] if value else [], {})),
    Counter: _called(lambda value: ([dict(value.most_common())] if value else [], {})),
    deque: _called(lambda value: ([list(value)], {} if value.maxlen is None else {"maxlen": value.maxlen})),
    UserList: _called(lambda value: ([value.data], {})),
    SimpleNamespace: _namespace,
    type: _class,
    FunctionType: _function,
    BuiltinFunctionType: _function,
    BaseException: _exception,
    re.Pattern: _pattern,
    super: _super,
}
