"""Measures the files of a session in small steps: the tree is hostile, and the zygote has other work."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator

MAX_ENTRIES = 200_000
LOOK_SECONDS = 0.02
OVERDRAFT = 256 << 20


def _entries(listing: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
    """Yield entries of a directory that may change meanwhile; stops at an error."""
    try:
        yield from listing
    except OSError:
        return


class DiskMeter:
    """Walks a tree again and again. Does not follow links."""

    def __init__(self, path: str, max_bytes: int) -> None:
        self.is_measured = False
        self.total = 0  # of the last walk that came to its end
        self.path = path
        self.limit = max_bytes
        self.ceiling = max_bytes + max(max_bytes, OVERDRAFT)
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries = 0
        self._walk = self._walk_once()

    def allow(self, size: int) -> None:
        """Allow this size if it is above the limit, but at most the ceiling."""
        self._max_bytes = max(self.limit, min(size, self.ceiling))

    def is_over(self) -> bool:
        """Continue the walk for a moment. Returns whether it has already found too much."""
        deadline = time.monotonic() + LOOK_SECONDS
        for _ in self._walk:
            if self._bytes > self._max_bytes or self._entries > MAX_ENTRIES:
                return True
            if time.monotonic() > deadline:
                return False
        self._finish()
        return False

    def measure(self) -> int | None:
        """Continue the walk for a moment. Returns the size if the walk is complete, else None."""
        deadline = time.monotonic() + LOOK_SECONDS
        for _ in self._walk:
            if time.monotonic() > deadline:
                return None
        self._finish()
        return self.total

    def _finish(self) -> None:
        self.is_measured, self.total = True, self._bytes
        self._walk = self._walk_once()

    def _walk_once(self) -> Iterator[None]:
        self._bytes = self._entries = 0
        pending = [self.path]
        while pending:
            try:
                listing = os.scandir(pending.pop())
            except OSError:
                continue  # unreadable or gone: what is below it cannot grow unseen for long
            with listing:
                for entry in _entries(listing):
                    try:
                        facts = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    self._entries += 1
                    self._bytes += facts.st_blocks * 512
                    if stat.S_ISDIR(facts.st_mode):
                        pending.append(entry.path)
                    yield
