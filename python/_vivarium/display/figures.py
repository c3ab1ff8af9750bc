"""Collects the pictures of a run: every figure once, in order, shown or not.

A `Figures` object is made once per session, in the process that runs the code. From then on `plt.show()`, `fig.show()`
(matplotlib, plotly and Altair) and `Image.show()` (Pillow) publish instead of opening a window, whether the library is
loaded already or later. Call `begin_run()` before the code and `end_run()` after it, even if it raised. `end_run()`
publishes figures that were never shown and figures of earlier runs that the code has changed, and closes all of them.

`publish` receives `{"data": {mime: str | bytes}, "kind": "figure", "chart", "title", "picture"}`. `data` always has
`text/plain`, and nothing else if a figure could not be drawn. `picture` is the number of the picture in the run. After
`end_run`, `saved` lists the calls of `savefig` with a path: `{"path", "title", "chart", "picture"}`. There, `picture`
is the number of the published picture of the same figure, if any.
"""

from __future__ import annotations

import json
import os
import sys
import weakref
from collections.abc import Callable

from _vivarium.display import fonts, pictures
from _vivarium.display.arrivals import Arrivals
from _vivarium.display.budget import Item, outline_of, size_of_form
from _vivarium.display.chart.chart import chart_of
from _vivarium.display.hooks import BACKEND, hooks
from _vivarium.values.cost import cost_of
from _vivarium.values.hints import Any
from _vivarium.values.text import attempt, printable, text_of, type_name

MAX_PICTURES = 100  # per run; each takes time to draw and space in the result
MAX_SAVED = 1_000
MAX_SAVED_BYTES = 2_000_000  # of the data behind saved figures
MAX_SAVED_COST = 300_000  # of parsing it


class Figures:
    """The pictures of the current run."""

    def __init__(
        self, publish: Callable[[Item], None], *, svg: bool = False, refuse: Callable[[], None] = lambda: None
    ) -> None:
        self.svg = svg
        self.saved: list[Item] = []
        self._publish = publish
        self._refused = refuse
        self._seen: dict[bytes, int] = {}  # content: number of the picture
        self._numbered = 0  # pictures of this run
        self._count = 0  # those since the output was last cleared
        self._saved_bytes = self._saved_cost = 0
        # By figure: the digest published last, and the number of its picture in this run.
        self._drawn: weakref.WeakKeyDictionary[Any, bytes] = weakref.WeakKeyDictionary()
        self._drawn_now: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._saved_from: list[Any] = []
        os.environ["MPLBACKEND"] = BACKEND
        self._arrivals = Arrivals({**hooks(self), "matplotlib.font_manager": fonts.complete})
        self._arrivals.check()

    def begin_run(self) -> None:
        """Start a run without pictures."""
        self.saved = []
        self._saved_from = []
        self._saved_bytes = self._saved_cost = self._numbered = 0
        self.clear()

    def clear(self) -> None:
        """Forget which pictures are shown: they were cleared, and may be shown again."""
        if self._count > 0:
            self._seen.clear()
            self._drawn_now.clear()
            self._count = 0
        for item in self.saved:
            item["picture"] = None

    def end_run(self) -> None:
        """Publish figures that are open or were changed, and close all."""
        try:
            self._arrivals.check()
            attempt(lambda: self.show_open(close=False))
            for figure in [one for one in self._drawn if getattr(one, "stale", False)] if self._drawn else ():
                attempt(lambda: self._show_again(figure))  # noqa: B023  called at once
        finally:
            attempt(_close_all)

    def show(self, value: object, kind: str | None = None) -> None:
        """Publish one picture, unless this run has published the same one already."""
        taken = self.take(value, kind)
        if taken is not None and taken[1]:
            self._publish(taken[0])

    def show_open(self, *, close: bool) -> None:
        """Publish the open figures of matplotlib in the order of their numbers."""
        for manager in _open_figures():
            attempt(lambda: self.show(manager.canvas.figure))  # noqa: B023  called at once
            if close:
                sys.modules["matplotlib._pylab_helpers"].Gcf.destroy(manager)  # type: ignore[attr-defined]

    def take(self, value: Any, kind: str | None = None, *, is_echo: bool = False) -> tuple[Item, bool] | None:
        """Return a picture as an item, and whether it is new. A known one has only its text. None for other values.

        An echoed one is published even if it is not new.
        """
        kind = kind or pictures.kind_of(value)
        if not kind:
            return None
        if kind == "matplotlib" and pictures.is_blank(value):
            return _item({"text/plain": text_of(value, 500)}), False
        if self._count >= MAX_PICTURES:
            return self._refuse(is_echo)
        item = self._draw(value, kind)
        digest = _digest(item["data"])
        is_new = digest not in self._seen
        self._count += is_new
        self._numbered += is_new
        item["picture"] = self._seen.setdefault(digest, self._numbered)
        if kind == "matplotlib":
            item["chart"] = chart_of(value) if is_new else None
            attempt(lambda: self._note_drawn(value, digest))
        if not is_new:
            item["data"] = {"text/plain": item["data"]["text/plain"]}
        return item, is_new

    def note_saved(self, figure: Any, target: object, options: dict[str, Any]) -> None:
        """Note that a figure was saved as a file."""
        if len(self.saved) < MAX_SAVED and isinstance(target, (str, os.PathLike)):
            attempt(lambda: self._note_saved(figure, os.fspath(target), options))

    def _note_saved(self, figure: Any, target: Any, options: dict[str, Any]) -> None:
        path = os.path.abspath(os.fsdecode(target))
        if not os.path.splitext(path)[1] and not options.get("format"):
            path = f"{path.rstrip('.')}.{figure.canvas.get_default_filetype()}"  # as matplotlib names it
        if not os.path.exists(path):
            return
        chart = self._saved_chart(figure) if len(self.saved) < MAX_PICTURES else None
        picture = self._drawn_now.get(figure)
        self.saved.append({"path": path, "title": pictures.title_of(figure), "chart": chart, "picture": picture})
        self._saved_from.append(weakref.ref(figure))

    def _saved_chart(self, figure: Any) -> Item | None:
        chart = chart_of(figure)
        if chart is None:
            return None
        text = json.dumps(chart)
        if self._saved_bytes + len(text) > MAX_SAVED_BYTES or self._saved_cost + cost_of(text) > MAX_SAVED_COST:
            return outline_of(chart)
        self._saved_bytes += len(text)
        self._saved_cost += cost_of(text)
        return chart

    def _note_drawn(self, figure: Any, digest: bytes) -> None:
        self._drawn[figure] = digest
        self._drawn_now[figure] = self._seen[digest]
        for item, source in zip(self.saved, self._saved_from):
            if source() is figure:
                item["picture"] = item["picture"] or self._seen[digest]
        figure.stale = False  # so that a later change is noticed

    def _show_again(self, figure: Any) -> None:
        """Publish a figure again if it has visibly changed since it was published."""
        before = self._drawn.get(figure)
        taken = self.take(figure)
        if taken is not None and taken[1] and self._drawn[figure] != before:
            self._publish(taken[0])

    def _draw(self, value: Any, kind: str) -> Item:
        try:
            data, smaller_by = pictures.draw(value, kind, svg=self.svg)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # artists run code of the program
            text = f"{type_name(error)}: {text_of(error, 500, as_str=True)}"
            return _item({"text/plain": f"<{type_name(value)} that could not be drawn: {text}>"})
        large = [mime for mime, content in data.items() if len(content) > pictures.MAX_BYTES]
        left_out = {mime: size_of_form(data.pop(mime)) for mime in large}
        notes = [f" ({mime} of {size} bytes left out)" for mime, size in left_out.items()]
        data["text/plain"] = "".join([str(data["text/plain"]), *notes])
        return _item(data, pictures.title_of(value), smaller_by + sum(left_out.values()))

    def _refuse(self, is_echo: bool) -> tuple[Item, bool]:
        is_first = self._count == MAX_PICTURES
        self._count += 1
        if not is_first and not is_echo:
            self._refused()
        return _item(
            {"text/plain": f"<more than {MAX_PICTURES} pictures in one run: the others are left out>"}
        ), is_first


def _open_figures() -> list[Any]:
    """Return the managers of matplotlib's open figures in the order of their numbers."""
    helpers: Any = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None or not helpers.Gcf.figs:
        return []
    return sorted(helpers.Gcf.get_all_fig_managers(), key=lambda one: one.num)


def _close_all() -> None:
    if _open_figures():
        sys.modules["matplotlib.pyplot"].close("all")  # type: ignore[attr-defined]


def saved_in(workspace: str, saved: list[Item]) -> list[Item]:
    """Return the figures saved in the workspace, with paths relative to it."""
    if not saved:
        return []
    home = os.path.realpath(workspace) + os.sep
    found = [{**one, "path": os.path.realpath(one["path"])} for one in saved[:MAX_PICTURES]]
    return [{**one, "path": printable(one["path"][len(home) :])} for one in found if one["path"].startswith(home)]


def _item(data: dict[str, str | bytes], title: str | None = None, left_out: int = 0) -> Item:
    return {"data": data, "kind": "figure", "chart": None, "title": title, "picture": None, "leftOut": left_out}


def _digest(data: dict[str, str | bytes]) -> bytes:
    """Identify a picture by its image, or by its text if it has none. SVG differs at each drawing."""
    import hashlib  # slow to load, and few programs draw

    specification = next((form for mime, form in data.items() if mime.endswith("+json")), None)
    content = data.get("image/png") or specification or data["text/plain"]
    return hashlib.sha256(content if isinstance(content, bytes) else content.encode("utf-8", "replace")).digest()
