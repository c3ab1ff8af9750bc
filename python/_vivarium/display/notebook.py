"""Gives programs written for notebooks what they expect: `display` and the classes around it.

`install(builtins, publisher)` makes `display` a builtin. `from IPython.display import ...` finds IPython if it is
installed, with `display` and `clear_output` redirected to the publisher. Otherwise it finds a small module with the
usual names. `IPython.get_ipython` is the builtin of that name, if there is one (see `_vivarium.notebook`).
"""

from __future__ import annotations

import builtins
import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

from _vivarium.display.arrivals import Arrivals
from _vivarium.display.publisher import Publisher
from _vivarium.values.hints import Any

_PACKAGES = ("IPython", "IPython.core")
_MODULES = (*_PACKAGES, "IPython.display", "IPython.core.display", "IPython.core.display_functions")


def install(namespace: ModuleType, publisher: Publisher) -> None:
    """Make `display` a builtin, and redirect IPython's display functions to `publisher`."""
    functions = _functions(publisher)
    namespace.display = functions["display"]  # type: ignore[attr-defined]
    classes = {
        one.__name__: one for one in (DisplayObject, HTML, Markdown, Latex, Math, SVG, JSON, Javascript, Pretty, Image)
    }
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder) is not StandIn]
    sys.meta_path.append(StandIn({**functions, **classes}))  # type: ignore[arg-type]  # last: a real IPython comes first
    displays = ("IPython.core.display_functions", "IPython.display")
    askings = ("IPython.core.getipython", "IPython")
    Arrivals(
        {
            **dict.fromkeys(displays, lambda module: vars(module).update(functions)),
            **dict.fromkeys(askings, lambda module: vars(module).update(get_ipython=_get_ipython())),
        }
    ).check()


class StandIn:
    """Finds a small substitute for IPython if the real one is not installed."""

    def __init__(self, contents: dict[str, Any]) -> None:
        self._contents = contents

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find the modules that programs import from."""
        return ModuleSpec(name, self, is_package=name in _PACKAGES) if name in _MODULES else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Return None, so that Python creates the module."""

    def exec_module(self, module: Any) -> None:
        """Fill the module."""
        contents = self._contents
        if module.__name__ == "IPython":
            contents = {
                "display": contents["display"],
                "get_ipython": _get_ipython(),
                "__version__": "0",
                "version_info": (0, 0, 0),
            }
        vars(module).update(contents)


def _get_ipython() -> Any:
    """Return the builtin itself: it looks at who calls it."""
    return getattr(builtins, "get_ipython", lambda: None)


class DisplayObject:
    """Content of one type, given directly or by the name of a file."""

    mime = "text/plain"
    is_binary = False

    def __init__(self, data: Any = None, url: str | None = None, filename: Any = None, **options: Any) -> None:
        self.data, self.url, self.filename, self.options = data, url, filename, options
        if filename is not None and data is None:
            self.reload()

    def __repr__(self) -> str:
        """Return the type only; the content is shown by `_repr_mimebundle_`."""
        return f"<{type(self).__name__} object>"

    def reload(self) -> None:
        """Read the file."""
        with open(self.filename, "rb") as file:
            self.data = file.read() if self.is_binary else file.read().decode()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        if self.data is None and self.url is not None:
            return {"text/plain": self.url}
        return {self.mime: self.data}


class HTML(DisplayObject):
    """HTML text."""

    mime = "text/html"


class Markdown(DisplayObject):
    """Markdown text."""

    mime = "text/markdown"


class Latex(DisplayObject):
    """LaTeX text."""

    mime = "text/latex"


class Math(Latex):
    """A formula in LaTeX."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {self.mime: f"$\\displaystyle {str(self.data).strip('$')}$"}


class JSON(DisplayObject):
    """Data that JSON can express."""

    mime = "application/json"


class Javascript(DisplayObject):
    """A script."""

    mime = "application/javascript"


class Pretty(DisplayObject):
    """Plain text."""


class SVG(DisplayObject):
    """A drawing, as text or as the name of a file."""

    mime = "image/svg+xml"

    def __init__(self, data: Any = None, url: str | None = None, filename: Any = None, **options: Any) -> None:
        if filename is None and _is_file(data):
            data, filename = None, data
        super().__init__(data, url, filename, **options)


class Image(SVG):
    """A picture, as bytes, as the name of a file, or as a URL."""

    is_binary = True

    def __init__(self, data: Any = None, url: str | None = None, filename: Any = None, **options: Any) -> None:
        if isinstance(data, str) and data.startswith(("http://", "https://")):
            data, url = None, data
        elif isinstance(data, (str, os.PathLike)) and not _is_file(data):
            raise FileNotFoundError(f"No such file: {os.fspath(data)!r}")
        super().__init__(data, url, filename, **options)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        if self.data is None:
            return {"text/plain": str(self.url), "text/html": f'<img src="{_quote(str(self.url))}"/>'}
        return {_image_type(bytes(self.data)): self.data}  # type: ignore[arg-type]


def _functions(publisher: Publisher) -> dict[str, Any]:
    """Return the functions of `IPython.display`."""

    def display(*objects: Any, raw: bool = False, display_id: Any = None, **_: Any) -> Any:
        """Show objects in the result of this run."""
        for one in objects:
            if raw and isinstance(one, dict):
                publisher.publish_bundle(one)
            else:
                publisher.publish(one)
        return DisplayHandle(display, display_id) if display_id else None

    def update_display(*objects: Any, **options: Any) -> None:
        """Show objects in place of others: they are shown as new output."""
        display(*objects, raw=bool(options.get("raw")))

    def clear_output(wait: bool = False) -> None:
        """Remove what was printed and shown so far."""
        publisher.clear(wait=bool(wait))

    def publish_display_data(data: dict[str, Any], *_: Any, **__: Any) -> None:
        """Show content of several MIME types."""
        publisher.publish_bundle(data)

    functions = (display, update_display, clear_output, publish_display_data)
    for one in functions:
        one.__qualname__ = one.__name__  # as help() and tracebacks name it
    return {one.__name__: one for one in functions}


class DisplayHandle:
    """What `display(..., display_id=True)` returns. Each update is shown as a new output."""

    def __init__(self, display: Any, display_id: Any) -> None:
        self.display = self.update = display
        self.display_id = display_id if isinstance(display_id, str) else f"{id(self):x}"

    def __repr__(self) -> str:
        """Return what IPython says about it."""
        return f"<DisplayHandle display_id={self.display_id}>"


def _is_file(data: Any) -> bool:
    try:
        return isinstance(data, (str, os.PathLike)) and os.path.isfile(data)
    except ValueError:  # not a valid path
        return False


def _image_type(data: bytes) -> str:
    for start, mime in (
        (b"\xff\xd8", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"RIFF", "image/webp"),
        (b"<", "image/svg+xml"),
    ):
        if data.startswith(start):
            return mime
    return "image/png"


def _quote(address: str) -> str:
    return address.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
