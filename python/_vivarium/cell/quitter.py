"""`exit` and `quit` of a session."""

from __future__ import annotations

from _vivarium.values.hints import NoReturn


class Quitter:
    """`exit` and `quit`: they end the cell and leave the streams open."""

    def __call__(self, code: object = None) -> NoReturn:
        """End the cell."""
        raise SystemExit(code)

    def __repr__(self) -> str:
        """Return a hint on how to use it."""
        return "Use exit() or quit() to end the cell"
