"""Tells from /proc which processes descend from which."""

from __future__ import annotations

import os


def descendants(root: int) -> list[int]:
    """Every process below `root`. None where there is no /proc."""
    below: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")
    except FileNotFoundError:
        return []
    for name in names:
        if not name.isdigit():
            continue
        below.setdefault(parent_of(int(name)), []).append(int(name))
    found: list[int] = []
    pending = list(below.get(root, []))
    while pending:
        pid = pending.pop()
        found.append(pid)
        pending += below.get(pid, [])
    return found


def parent_of(pid: int) -> int:
    """Return the parent of a process, or 0 if it is gone or not for us to look at."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return int(os.read(fd, 4096).rpartition(b")")[2].split()[1])
        finally:
            os.close(fd)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
