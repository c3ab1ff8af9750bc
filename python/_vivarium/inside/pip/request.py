"""Asks the host for packages: a line into a pipe, and the answer in a file. Neither needs a socket or a network."""

from __future__ import annotations

import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # slow to load

LINE_BYTES = 4096  # that a pipe takes as a whole, however many processes write to it
_FIRST_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.05


class Refused(Exception):
    """Nothing was installed. The message says why."""


def policy() -> dict[str, Any] | None:
    """Return what the session may install: None for nothing, else `names`, which is None for anything."""
    try:
        with open(f"{_directory()}/policy.json", encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def ask(requirements: list[str]) -> str:
    """Have the host install packages and return what it says. Raises `Refused`."""
    number = os.urandom(8).hex()
    for line in _lines(number, requirements):
        _write(line)
    answer = _await(f"{_directory()}/answers/{number}.json")
    if not answer["ok"]:
        raise Refused(answer["text"])
    return answer["text"]


def _directory() -> str:
    return os.environ.get("VIVARIUM_PACKAGES", "")


def _lines(number: str, requirements: list[str]) -> list[bytes]:
    """Return the request in lines that each fit into the pipe as a whole."""
    parts: list[list[str]] = [[]]
    for one in requirements:
        if len(_line(number, [*parts[-1], one], is_last=False)) > LINE_BYTES:
            parts.append([])
        parts[-1].append(one)
    lines = [_line(number, part, is_last=part is parts[-1]) for part in parts]
    if any(len(line) > LINE_BYTES for line in lines):
        raise Refused("A requirement is longer than 4000 bytes.")
    return lines


def _line(number: str, part: list[str], *, is_last: bool) -> bytes:
    return json.dumps({"id": number, "requirements": part, "isLast": is_last}).encode() + b"\n"


def _write(line: bytes) -> None:
    try:
        pipe = os.open(f"{_directory()}/wishes", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:  # nobody reads it
        raise Refused("Nothing can be installed here.") from error
    try:
        os.set_blocking(pipe, True)
        os.write(pipe, line)
    finally:
        os.close(pipe)


def _await(path: str) -> dict[str, Any]:
    """Wait for the answer, which appears as a whole."""
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            with open(path, encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            time.sleep(pause_s)
            pause_s = min(1.2 * pause_s, _LONGEST_PAUSE_S)
