"""Measures how much a session has written, a little at a time: its tree is hostile and the zygote has other work."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator

MAX_ENTRIES = 200_000
LOOK_SECONDS = 0.02
OVERDRAFT = 256 << 20


def _entries(listing: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
    """What can be read of a directory that others change meanwhile."""
    try:
        yield from listing
    except OSError:
        return


class DiskMeter:
    """Walks a tree over and over; links are not followed."""

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
        """Let it be as large as that, if that is more than the limit, and not far more."""
        self._max_bytes = max(self.limit, min(size, self.ceiling))

    def is_over(self) -> bool:
        """Go on with the walk for a moment; whether what it has found so far is too much."""
        deadline = time.monotonic() + LOOK_SECONDS
        for _ in self._walk:
            if self._bytes > self._max_bytes or self._entries > MAX_ENTRIES:
                return True
            if time.monotonic() > deadline:
                return False
        self._finish()
        return False

    def measure(self) -> int | None:
        """Go on with the walk for a moment; the size once it is known."""
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
