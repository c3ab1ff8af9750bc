"""Reads and writes small text files of the kernel. Loads faster than pathlib."""

from __future__ import annotations


def read(path: str) -> str:
    """Return the whole text."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path: str, text: str) -> None:
    """Write the text in one call."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
