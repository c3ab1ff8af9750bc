"""Has a kernel send long output in pieces: as one message it would be too large for servers and for us."""

from __future__ import annotations

from typing import Any

PIECE = 1 << 18  # characters in one message


def in_pieces(stream: Any) -> None:
    """Make a stream of the kernel send off what it holds as often as a piece is full."""
    write = stream.write
    unsent = 0

    def write_in_pieces(text: Any) -> Any:
        nonlocal unsent
        if not isinstance(text, str) or unsent + len(text) < PIECE:
            unsent += len(text) if isinstance(text, str) else 0
            return write(text)
        for start in range(0, len(text), PIECE):
            write(text[start : start + PIECE])
            stream.flush()
        unsent = 0
        return len(text)

    stream.write = write_in_pieces
