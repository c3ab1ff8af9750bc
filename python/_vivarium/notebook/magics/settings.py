"""Magics that set something in IPython, show cells in other formats, or list the magics."""

from __future__ import annotations

import sys

from _vivarium.notebook.magics.registry import Call, find, known, magic

# The MIME type of each, and the class of IPython that would show it.
_SHOWN = {
    "html": ("text/html", "HTML"),
    "HTML": ("text/html", "HTML"),
    "markdown": ("text/markdown", "Markdown"),
    "latex": ("text/latex", "Latex"),
    "svg": ("image/svg+xml", "SVG"),
    "SVG": ("image/svg+xml", "SVG"),
    "javascript": ("application/javascript", "Javascript"),
    "js": ("application/javascript", "Javascript"),
}
_INLINE = ("", "inline", "agg", "Agg", "-l", "--list")


@magic("matplotlib")
def _matplotlib(call: Call) -> None:
    """Accepted: figures are always shown inline."""
    if call.argument not in _INLINE:
        print(f"%matplotlib {call.argument}: there are no windows here; figures are shown inline.", file=sys.stderr)


@magic("load_ext", "reload_ext", "unload_ext")
def _load_ext(call: Call) -> None:
    """Accepted: autoreload is always on; other extensions of IPython cannot be loaded here."""
    if call.argument and call.argument != "autoreload":
        print(f"%{call.name} {call.argument}: extensions of IPython cannot be loaded here.", file=sys.stderr)


@magic("autoreload", "aimport")
def _autoreload(call: Call) -> None:
    """Accepted, without effect: a changed workspace module is always reloaded by its next import."""


@magic("config", "xmode", "colors")
def _config(call: Call) -> None:
    """Accepted, without an effect: there is no such setting here."""


@magic(*_SHOWN, kinds=("cell",))
def _show(call: Call) -> None:
    """Show the cell in that format."""
    mime, kind = _SHOWN[call.name]
    call.shell.publish({"text/plain": f"<IPython.core.display.{kind} object>", mime: call.body or ""})


@magic("lsmagic")
def _lsmagic(call: Call) -> None:
    """Print the names of all magics."""
    for kind, mark in (("line", "%"), ("cell", "%%")):
        print(f"Available {kind} magics:\n{'  '.join(mark + name for name in known(kind))}\n")


@magic("magic")
def _magic(call: Call) -> None:
    """Print what each magic does."""
    for kind, mark in (("line", "%"), ("cell", "%%")):
        for name in known(kind):
            print(f"{mark}{name}: {find(kind, name).summary}")  # type: ignore[union-attr]
