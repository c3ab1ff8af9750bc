"""Turns values into MIME bundles and publishes them in order.

A `Publisher` is made once per session; `notebook.install(builtins, publisher)` gives programs `display`. Its `send`
receives items `{"data": {mime: str | bytes}, "kind", "chart", "title", "picture", "leftOut"}` as they come, where
`leftOut` is the size of what is missing because it is too large:

    display   `display(value)`
    figure    a picture that was shown or left open (see `figures`), or displayed
    result    the echoed value of an expression, without its picture if this run has published that already
    clear     `clear_output()`: what was published so far may be dropped

A run is `begin_run()`, the code with `echo(value)` for each value to echo, and `end_run()` even if the code raised.
What a run shows is bounded (see `budget`). `report()` says how much was left out, and so does `on_cut`, which is called
now and then while results are left out, for the case that the run does not come to its end.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterator

from _vivarium.display import pictures
from _vivarium.display.budget import Budget, Item, size_of_form
from _vivarium.display.figures import Figures
from _vivarium.display.pretty.printers import pretty_text
from _vivarium.values.hints import Any
from _vivarium.values.text import plain, printable, text_of, type_name

LIMIT = 5_000_000  # bytes of one format of a value
TEXT_LIMIT = 20_000
MAX_FORMS = 20
TEXT = "text/plain"
Bundle = dict[str, "str | bytes"]
Forms = Iterator[tuple[str, Callable[[], object]]]
_METHODS = {
    "text/html": "_repr_html_",
    "text/markdown": "_repr_markdown_",
    "image/svg+xml": "_repr_svg_",
    "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_",
    "text/latex": "_repr_latex_",
    "application/json": "_repr_json_",
    "application/javascript": "_repr_javascript_",
    "application/pdf": "_repr_pdf_",
}
# Values of these types have only their text, and none of them is a picture.
_PLAIN = {id(kind) for kind in (int, float, complex, bool, str, bytes, type(None), list, tuple, dict, set, frozenset)}
_bases = type.__dict__["__mro__"].__get__
_members = type.__dict__["__dict__"].__get__


class Publisher:
    """Sends what a run displays and echoes."""

    def __init__(
        self,
        send: Callable[[Item], None],
        *,
        svg: bool = False,
        limit: int = LIMIT,
        on_cut: Callable[[dict[str, int]], None] = lambda report: None,
    ) -> None:
        self._receive = send
        self._on_cut = on_cut
        self._limit = limit
        self._pid = os.getpid()
        self._budget = Budget()
        self._diverted: Callable[[Item], None] | None = None
        self.figures = Figures(self._send, svg=svg, refuse=self._miss)

    def begin_run(self, *, svg: bool = False) -> None:
        """Start a run; with `svg`, figures of matplotlib are published as SVG as well."""
        self._pid = os.getpid()
        self._diverted = None
        self._budget.clear()
        self.figures.svg = svg
        self.figures.begin_run()

    def end_run(self) -> None:
        """Publish the figures that are left, and the last of the results that did not fit."""
        self.figures.end_run()
        self._send_last()

    def report(self) -> dict[str, int] | None:
        """Return how much this run has shown and how much of it was sent, if that is less."""
        return self._budget.report()

    def publish(self, value: object) -> None:
        """Publish a value that the program displays."""
        taken = self.figures.take(value)
        if taken is None:
            if not _displays_itself(value):
                self._send(_item("display", *_bundle(value, self._limit)))
        elif taken[1]:
            self._send(taken[0])

    def publish_bundle(self, data: dict[str, object]) -> None:
        """Publish a MIME bundle that the program made."""
        self._send(_item("display", *_complete(_forms_in(data), "", self._limit)))

    def echo(self, value: object) -> None:
        """Publish the value of an expression."""
        self._send_last()
        if id(type(value)) in _PLAIN:
            return self._send(_item("result", {TEXT: pretty_text(value, TEXT_LIMIT)}))
        taken = self.figures.take(value, is_echo=True)
        if taken is not None:
            self._send({**taken[0], "kind": "result"})
        elif not _displays_itself(value):
            self._send(_item("result", *_bundle(value, self._limit)))

    def divert(self, receive: Callable[[Item], None] | None) -> Callable[[Item], None] | None:
        """Give what is published from now on to this function; None: send it again. Returns who got it before."""
        self.figures.end_run()  # what is drawn by now belongs to what was before
        earlier, self._diverted = self._diverted, receive
        return earlier

    def resend(self, item: Item) -> None:
        """Publish an item that was diverted."""
        self._send({**item, "kind": "display"} if item["kind"] == "result" else item)

    def clear(self, *, wait: bool = False) -> None:
        """Ask for earlier output to be dropped, with `wait` only once there is new output."""
        if os.getpid() == self._pid:
            self._budget.clear()
            self.figures.clear()
            self._receive({**_item("clear", {}), "wait": wait})

    def _send(self, item: Item) -> None:
        if os.getpid() != self._pid:  # a process that the program forked must not write to our channel
            return
        if self._diverted is not None:
            self._diverted(item)
            return
        admitted = self._budget.admit(item)
        if admitted is not None:
            self._receive(admitted)
        else:
            self._tell_omitted()

    def _send_last(self) -> None:
        if self._budget.omitted > 0 and os.getpid() == self._pid:
            for item in self._budget.take_last():
                self._receive(item)

    def _miss(self) -> None:
        if os.getpid() == self._pid:
            self._budget.miss()
            self._tell_omitted()

    def _tell_omitted(self) -> None:
        """Report the first omission, the second, the fourth and so on: often enough, and cheap for any number."""
        omitted, report = self._budget.omitted, self._budget.report()
        if omitted & (omitted - 1) == 0 and report is not None:
            self._on_cut(report)


def bundle(value: object, *, limit: int = LIMIT) -> Bundle:
    """Return a value in each format it has, each within `limit` bytes; raises nothing but KeyboardInterrupt."""
    return _bundle(value, limit)[0]


def _bundle(value: object, limit: int) -> tuple[Bundle, int]:
    kind = pictures.kind_of(value)
    if kind:
        return _complete(_forms_of_picture(value, kind), f"<{type_name(value)}>", limit)
    return _complete(_forms_of(value), pretty_text(value, min(limit, TEXT_LIMIT)), limit)


def _complete(forms: Forms, text: str, limit: int) -> tuple[Bundle, int]:
    """Collect the formats that are valid and small enough. The text says why others were left out; also their size."""
    data: Bundle = {TEXT: text}
    notes: list[str] = []
    left_out = 0
    for mime, make in forms:
        if len(data) > MAX_FORMS:
            break
        try:
            content = _normal(mime, make())
        except KeyboardInterrupt:
            raise
        except NotImplementedError:
            continue
        except BaseException as error:  # representations are code of the program
            notes.append(f"({mime} left out: {type_name(error)}: {text_of(error, 200, as_str=True)})")
            continue
        if content is not None and len(content) > (min(limit, TEXT_LIMIT) if mime == TEXT else limit):
            notes.append(f"({mime} of {len(content)} bytes left out)")
            left_out += size_of_form(content)
        elif content is not None:
            data[mime] = content
    data[TEXT] = "\n".join([str(data[TEXT]), *notes] if data[TEXT] else notes)
    return data, left_out


def _forms_of(value: Any) -> Forms:
    """Yield each format by its MIME type. Those of `_repr_mimebundle_` come last and win."""
    bases = _bases(type(value))
    for mime, name in _METHODS.items():
        if _has(bases, name):
            yield mime, lambda name=name: getattr(value, name)()  # type: ignore[misc]
    if _has(bases, "_repr_mimebundle_"):
        found: list[object] = []
        yield "_repr_mimebundle_", lambda: found.append(value._repr_mimebundle_(include=None, exclude=None))
        for one in found:
            yield from _forms_in(one[0] if isinstance(one, tuple) and one else one)


def _forms_in(data: object) -> Forms:
    if not isinstance(data, dict):
        return
    for mime, content in list(dict.items(data))[:MAX_FORMS]:
        if isinstance(mime, str) and 3 <= len(mime) <= 100 and mime.isascii() and mime.isprintable() and "/" in mime:
            yield plain(mime), lambda content=content: content  # type: ignore[misc]


def _forms_of_picture(value: object, kind: str) -> Forms:
    data: Bundle = {}
    yield "picture", lambda: data.update(pictures.draw(value, kind)[0])
    yield from _forms_in(data)


def _normal(mime: str, content: Any) -> str | bytes | None:
    """Return text, bytes, or JSON as text, depending on the MIME type; raise for anything else."""
    if isinstance(content, tuple) and len(content) == 2:  # with metadata
        content = content[0]
    if content is None:
        return None
    if mime == "application/json" or mime.endswith("+json"):
        return _json(content)
    if isinstance(content, (bytes, bytearray, memoryview)):
        return bytes(content) if _is_binary(mime) else bytes(content).decode()
    if not isinstance(content, str):
        raise TypeError(f"it is {type_name(content)}, not text")
    content = printable(plain(content))
    return base64.b64decode("".join(content.split()), validate=True) if _is_binary(mime) else content


def _json(content: object) -> str:
    if isinstance(content, str):
        try:
            json.loads(content)
        except ValueError:
            return json.dumps(content)
        return printable(plain(content))
    return json.dumps(content, allow_nan=False, default=lambda other: text_of(other, 1_000))


def _is_binary(mime: str) -> bool:
    return mime == "application/pdf" or (mime.startswith(("image/", "audio/", "video/")) and mime != "image/svg+xml")


def _displays_itself(value: Any) -> bool:
    """Let a value display itself with `_ipython_display_`, if it has that. Return whether it did."""
    if not _has(_bases(type(value)), "_ipython_display_"):
        return False
    try:
        value._ipython_display_()
    except KeyboardInterrupt:
        raise
    except BaseException:  # then it is shown like other values
        return False
    return True


def _has(bases: tuple[type, ...], name: str) -> bool:
    """Return whether a class has a method. The object itself may claim to have any, so it is not asked."""
    return any(name in _members(base) for base in bases)


def _item(kind: str, data: Bundle, left_out: int = 0) -> Item:
    return {"data": data, "kind": kind, "chart": None, "title": None, "picture": None, "leftOut": left_out}
