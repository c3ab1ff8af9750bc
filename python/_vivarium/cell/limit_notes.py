"""Says which limit of the session an error comes from: the kernel's own words name none."""

from __future__ import annotations

import errno
import os

from _vivarium.values.hints import Any

_CHAIN = 10  # exceptions that are looked at, from the newest to its causes
_SHM = "/dev/shm"
_FULL = 1 << 20  # bytes that a full memory file system may have left
_NO_THREAD = "can't start new thread"
_FORKS = ("fork", "forkpty", "fork_exec", "_fork_exec", "posix_spawn", "posix_spawnp")
_LISTED = (
    "This session reaches listed hosts only (network.allow). Clients that use HTTP_PROXY and HTTPS_PROXY reach all of "
    "them; others reach those that are listed by name or address and port, without a wildcard."
)
_HTTPFS = (
    "DuckDB reads addresses with its extension httpfs, which is not part of its package and is fetched from "
    "extensions.duckdb.org. Read the address with pandas or polars and query the DataFrame, or have that host listed."
)
_cause, _context = BaseException.__dict__["__cause__"], BaseException.__dict__["__context__"]
_frames, _args = BaseException.__dict__["__traceback__"], BaseException.__dict__["args"]


def limit_note(error: BaseException, limits: dict[str, int]) -> str | None:
    """Return a sentence about the limit that an error or one of its causes comes from, if that is one of ours.

    `limits` has `memoryMb`, `processes`, `openFiles` and `fileMb`, as the session was given them.
    """
    seen: Any = error
    for _ in range(_CHAIN):
        if seen is None:
            return None
        try:
            note = _note_on(seen, limits)
        except Exception:  # the program may have replaced what this needs; the error itself is told all the same
            return None
        if note is not None:
            return note
        cause = _cause.__get__(seen)
        seen = _context.__get__(seen) if cause is None else cause
    return None


def _note_on(error: BaseException, limits: dict[str, int]) -> str | None:
    number = _errno_of(error)
    if number == errno.EFBIG:
        return f"One file may have {limits['fileMb']} MB (limits.fileMb)."
    if number == errno.EMFILE:
        return f"A process may have {limits['openFiles']} files open (limits.openFiles)."
    if number == errno.ENOMEM or (number == errno.ENOSPC and _is_memory_full()):
        return f"The session may use {limits['memoryMb']} MB of memory (limits.memoryMb)."
    if _is_no_thread(error) or (number == errno.EAGAIN and _forks(error)):
        return f"The session may have {limits['processes']} processes and threads (limits.processes)."
    return None


def list_note(error: BaseException) -> str | None:
    """Return a sentence about an error of a program that looks up names or connects by itself.

    It is for sessions whose network is a list: names are looked up by the proxies that lead out, and nowhere else.
    """
    seen: Any = error
    for _ in range(_CHAIN):
        if seen is None:
            return None
        is_unknown = type(seen).__name__ == "gaierror" and issubclass(type(seen), OSError)
        if type(seen).__module__ in ("_duckdb", "duckdb") and _misses_httpfs(seen):
            return _HTTPFS
        if is_unknown or _errno_of(seen) in (errno.ENETUNREACH, errno.EHOSTUNREACH):
            return _LISTED
        cause = _cause.__get__(seen)
        seen = _context.__get__(seen) if cause is None else cause
    return None


def _misses_httpfs(error: BaseException) -> bool:
    arguments = _args.__get__(error)
    text = arguments[0] if len(arguments) == 1 and type(arguments[0]) is str else ""
    return "httpfs" in text and ("download extension" in text or "install the required extension" in text)


def _errno_of(error: BaseException) -> int | None:
    """Return the number of an error of the kernel, whatever its class has made of the attribute."""
    if not issubclass(type(error), OSError):  # `isinstance` would ask the object
        return None
    number = OSError.__dict__["errno"].__get__(error)
    return number if type(number) is int else None


def _is_no_thread(error: BaseException) -> bool:
    arguments = _args.__get__(error)
    return type(error) is RuntimeError and [type(one) for one in arguments] == [str] and arguments[0] == _NO_THREAD


def _is_memory_full() -> bool:
    """Return whether /dev/shm has no room left. Where it is a part of the disk, it has as much as the disk."""
    try:
        facts = os.statvfs(_SHM)
    except OSError:
        return False
    return facts.f_bavail * facts.f_frsize < _FULL


def _forks(error: BaseException) -> bool:
    """Return whether the line that raised an error starts a process. Other calls use the same number for 'not yet'."""
    import dis  # rarely needed

    last = _frames.__get__(error)
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return False
    code, line = last.tb_frame.f_code, last.tb_lineno
    parts = [range(start, end) for start, end, number in code.co_lines() if number == line]
    names = {str(one.argval) for one in dis.get_instructions(code) if any(one.offset in part for part in parts)}
    return not names.isdisjoint(_FORKS)
