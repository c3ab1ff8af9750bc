"""Replaces what needs a window, a browser or widgets: in matplotlib, pandas, plotly, Altair, Pillow, tqdm."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from types import ModuleType

from _vivarium.display.arrivals import Action
from _vivarium.display.chart import boxes
from _vivarium.values.hints import Any, Protocol

BACKEND = "agg"
MAX_COLUMNS = 20  # what pandas shows in a notebook
_WITHOUT_WINDOW = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")
_WITH_WINDOW = (
    "gtk",
    "macosx",
    "nbagg",
    "notebook",
    "qt",
    "tk",
    "webagg",
    "wx",
    "ipympl",
    "widget",
    "inline",
    "module://",
    "auto",
)


class Collector(Protocol):
    """What the hooks call."""

    def show(self, value: object, kind: str | None = None) -> None:
        """Show one picture; `kind` says what it is if its type does not."""

    def show_open(self, *, close: bool) -> None:
        """Show every open figure of matplotlib."""

    def note_saved(self, figure: Any, target: object, options: dict[str, Any]) -> None:
        """Note that a figure was saved."""


def hooks(collector: Collector) -> dict[str, Action]:
    """Return the action for each module when it is loaded."""
    return {
        "matplotlib": _hook_matplotlib,
        "matplotlib.figure": lambda module: _hook_figure(module, collector),
        "matplotlib.pyplot": lambda module: _hook_pyplot(module, collector),
        "plotly.io._renderers": lambda module: _hook_plotly(module, collector),
        "altair": lambda module: replace(
            module.TopLevelMixin, "show", lambda _: lambda chart, *__, **___: collector.show(chart)
        ),
        "pandas": _hook_pandas,
        "tqdm.notebook": _hook_tqdm,
        "PIL.Image": lambda module: replace(
            module.Image, "show", lambda _: lambda image, *__, **___: collector.show(image)
        ),
    }


def replace(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a function by what `make` returns for the original. A second call replaces our first replacement."""
    original = getattr(owner, name)
    original = getattr(original, "__replaced__", original)
    ours = functools.wraps(original)(make(original))
    ours.__replaced__ = original  # type: ignore[attr-defined]
    setattr(owner, name, ours)


def _hook_matplotlib(module: Any) -> None:
    """Use backends that draw without a window, whatever the environment or the program asks for."""
    if dict.get(module.rcParams, "backend") not in _WITHOUT_WINDOW:
        module.rcParams["backend"] = BACKEND
    replace(module, "use", _with_safe_backend)


def _hook_figure(module: Any, collector: Collector) -> None:
    def saving(original: Callable[..., Any]) -> Callable[..., Any]:
        def savefig(figure: Any, fname: Any, *args: Any, **options: Any) -> Any:
            result = original(figure, fname, *args, **options)
            collector.note_saved(figure, fname, options)
            return result

        return savefig

    replace(module.Figure, "show", lambda _: lambda figure, *__, **___: collector.show(figure))
    replace(module.Figure, "savefig", saving)
    boxes.watch(sys.modules["matplotlib.axes"].Axes, replace)  # type: ignore[attr-defined]


def _hook_pyplot(module: Any, collector: Collector) -> None:
    def show(*args: Any, **options: Any) -> None:
        block = options.get("block", args[0] if args else None)
        collector.show_open(close=not module.isinteractive() if block is None else bool(block))

    replace(module, "show", lambda _: show)
    replace(module, "pause", lambda _: lambda interval: time.sleep(interval))
    replace(module, "switch_backend", _with_safe_backend)
    pylab = sys.modules.get("pylab") or sys.modules.get("matplotlib.pylab")
    if isinstance(pylab, ModuleType):
        pylab.show, pylab.pause = module.show, module.pause  # type: ignore[attr-defined]


def _hook_plotly(module: Any, collector: Collector) -> None:
    replace(module, "show", lambda _: lambda fig, *__, **___: collector.show(fig, "plotly"))
    package = sys.modules.get("plotly.io")
    if package is not None and "show" in vars(package):
        package.show = module.show  # type: ignore[attr-defined]


def _hook_pandas(module: Any) -> None:
    """Wrap wide tables, as in notebooks: pandas takes us for a terminal, for which it leaves out columns."""
    if module.get_option("display.max_columns") == 0:
        module.set_option("display.max_columns", MAX_COLUMNS)


def _hook_tqdm(module: Any) -> None:
    """Draw progress bars as text where their widgets are not installed."""
    if module.IProgress is None:
        plain = sys.modules["tqdm.std"]
        module.tqdm = module.tqdm_notebook = plain.tqdm  # type: ignore[attr-defined]
        module.trange = module.tnrange = plain.trange  # type: ignore[attr-defined]


def _with_safe_backend(original: Callable[..., Any]) -> Callable[..., Any]:
    def choose(*args: Any, **options: Any) -> Any:
        if args:
            args = (_safe(args[0]), *args[1:])
        for name in ("backend", "newbackend"):
            if name in options:
                options[name] = _safe(options[name])
        return original(*args, **options)

    return choose


def _safe(name: object) -> object:
    """Return a backend that needs no window. An unknown name is kept: matplotlib raises its own error for it."""
    if type(name) is not str:
        return BACKEND  # the sentinel that lets matplotlib choose
    return BACKEND if name.lower().startswith(_WITH_WINDOW) else name
