"""Gathers the zygote's memory into large pages: a fork then copies some hundred entries instead of tens of thousands."""

from __future__ import annotations

import ctypes

_MADV_COLLAPSE = 25  # Linux 6.1
_LARGE = 2 << 20


def gather() -> int:
    """Collapse what is private and writable; the number of bytes that are in large pages now. Elsewhere it changes nothing."""
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    gathered = 0
    for first, last in _private_ranges():
        start, size = -(-first // _LARGE) * _LARGE, 0
        size = (last - start) // _LARGE * _LARGE
        if size > 0 and madvise(start, size, _MADV_COLLAPSE) == 0:  # one call for a range: each waits for all processors
            gathered += size
    return gathered


def _private_ranges() -> list[tuple[int, int]]:
    """Address ranges of memory that belongs to no file."""
    with open("/proc/self/maps") as file:
        rows = [line.split() for line in file]
    return [
        (int(first, 16), int(last, 16))
        for first, last in (row[0].split("-") for row in rows if row[1] == "rw-p" and row[4] == "0" and row[5:] != ["[stack]"])
    ]
