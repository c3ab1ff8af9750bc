"""Reads and writes the small text files by which the kernel talks; lighter than pathlib at start-up."""

from __future__ import annotations


def read(path: str) -> str:
    """All of it."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path: str, text: str) -> None:
    """In one call."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
