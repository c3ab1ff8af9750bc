"""How much memory the worker uses, and how much a twin holds for itself."""

from __future__ import annotations

import os

PAGE = os.sysconf("SC_PAGE_SIZE")
MOST_ROLLUP_BYTES = 8192


def anonymous_bytes() -> int:
    """Resident memory of this process that is not backed by files."""
    try:
        fields = _read("/proc/self/statm", 256).split()
        return (int(fields[1]) - int(fields[2])) * PAGE
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def private_bytes(pid: int) -> int | None:
    """Memory that a process shares with no other, or None if that is not known. Takes milliseconds per gigabyte."""
    try:
        lines = _read(f"/proc/{pid}/smaps_rollup", MOST_ROLLUP_BYTES).splitlines()
    except OSError:
        return None
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith((b"Private_Clean:", b"Private_Dirty:")))


def _read(path: str, most: int) -> bytes:
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, most)
    finally:
        os.close(fd)
