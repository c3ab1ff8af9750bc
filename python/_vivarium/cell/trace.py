"""Describes an exception as bounded text, whatever the exception's own methods do."""

from __future__ import annotations

import os
import sys
import traceback
from types import TracebackType

from _vivarium.values.hints import TypedDict
from _vivarium.values.text import NAME_LIMIT, cut, plain, printable, type_name

VALUE_LIMIT = 10_000
TRACEBACK_LIMIT = 50_000
_WIDE = 2  # so many times less of text beyond ASCII, which takes more bytes of a message
_CHAIN_LIMIT = 100  # of a longer chain of exceptions only the newest is shown
_FRAME_LIMIT = 2_000  # of a deeper stack only head and tail are shown
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# Where Python is, the longest path first. That of the system's own says nothing.
_PREFIXES = sorted(
    {
        os.path.join(prefix, "")
        for given in (sys.prefix, sys.base_prefix, sys.exec_prefix)
        for prefix in (given, os.path.realpath(given))
        if prefix not in ("/", "/usr", "/usr/local")
    },
    key=len,
    reverse=True,
)
_cause, _context = BaseException.__dict__["__cause__"], BaseException.__dict__["__context__"]
_frames = BaseException.__dict__["__traceback__"]


class Description(TypedDict):
    """An exception as text."""

    name: str
    value: str
    traceback: str


def describe(error: BaseException, note: str | None = None) -> Description:
    """Return name, message and traceback of `error`; raises nothing but KeyboardInterrupt. A note follows as a line."""
    name, value = type_name(error), _message(error)
    try:
        text = _format(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # attributes of the exception may raise anything or have any type
        text = _format_simply(error, name, value)
    return {
        "name": name[:NAME_LIMIT],
        "value": _bounded(_without_host_paths(value), VALUE_LIMIT),
        "traceback": _bounded(_without_host_paths(printable(text)), TRACEBACK_LIMIT) + (f"{note}\n" if note else ""),
    }


def _without_host_paths(text: str) -> str:
    """Name files of the Python installation without saying where on the machine it is."""
    for prefix in _PREFIXES:
        text = text.replace(prefix, "<python>/")
    return text


def _bounded(text: str, limit: int) -> str:
    return cut(text, limit if text.isascii() else limit // _WIDE)


def _message(error: BaseException) -> str:
    try:
        return printable(plain(str(error)))
    except KeyboardInterrupt:
        raise
    except BaseException as raised:
        return f"<its str raised {type_name(raised)}>"


def _format(error: BaseException) -> str:
    """Format as Python does, without frames of our own."""
    if _chain_is_long(error):
        raise ValueError("chain too long")
    frames = _frames.__get__(error)
    depth = _depth(frames)
    limit = -_FRAME_LIMIT // 2 if depth > _FRAME_LIMIT else None
    report = traceback.TracebackException(type(error), error, frames, limit=limit, compact=True)
    if limit is not None:
        head = traceback.StackSummary.extract(traceback.walk_tb(frames), limit=20)
        gap = traceback.FrameSummary(f"<{depth + limit - 20} frames left out>", 0, "...", lookup_line=False)
        report.stack[:0] = [*head, gap]
    _drop_own_frames(report)
    return "".join(report.format())


def _chain_is_long(error: BaseException) -> bool:
    """Return whether too many exceptions are chained. Reads the attributes of the built-in class only."""
    waiting, seen = [error], set()
    while waiting and len(seen) <= _CHAIN_LIMIT:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        waiting += [other for other in (_cause.__get__(one), _context.__get__(one)) if other is not None]
    return len(seen) > _CHAIN_LIMIT


def _depth(frames: TracebackType | None) -> int:
    depth = 0
    while frames is not None:
        depth, frames = depth + 1, frames.tb_next
    return depth


def _drop_own_frames(report: traceback.TracebackException) -> None:
    """Remove our own frames from a report and from all reports chained to it."""
    waiting = [report]
    seen = set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if one.stack:
            one.stack[:] = [frame for frame in one.stack if not frame.filename.startswith(_OWN)]
        if not one.stack:
            one.stack = None  # type: ignore[assignment]  # no header without frames
        waiting += [one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or ())]  # type: ignore[list-item]


def _format_simply(error: BaseException, name: str, value: str) -> str:
    """Format only frames and message, for exceptions that Python's own formatter cannot handle."""
    try:
        frames = traceback.extract_tb(_frames.__get__(error), limit=-_FRAME_LIMIT)
        lines = traceback.format_list([frame for frame in frames if not frame.filename.startswith(_OWN)])
    except KeyboardInterrupt:
        raise
    except BaseException:
        lines = []
    header = "Traceback (most recent call last):\n" if lines else ""
    return f"{header}{''.join(lines)}{name}: {value}\n"
