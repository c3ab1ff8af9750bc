"""Measures how much a session has written, a little at a time: its tree is hostile and the zygote has other work."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator

MAX_ENTRIES = 200_000
LOOK_SECONDS = 0.02


class DiskMeter:
    """Walks a tree over and over; links are not followed."""

    def __init__(self, path: str, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries = 0
        self._walk = self._walk_once()

    def is_over(self) -> bool:
        """Go on with the walk for a moment; whether what it has found so far is too much."""
        deadline = time.monotonic() + LOOK_SECONDS
        for _ in self._walk:
            if self._bytes > self._max_bytes or self._entries > MAX_ENTRIES:
                return True
            if time.monotonic() > deadline:
                return False
        self._walk = self._walk_once()
        return False

    def _walk_once(self) -> Iterator[None]:
        self._bytes = self._entries = 0
        pending = [self._path]
        while pending:
            try:
                listing = os.scandir(pending.pop())
            except OSError:
                continue  # unreadable or gone: what is below it cannot grow unseen for long
            with listing:
                for entry in listing:
                    try:
                        facts = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    self._entries += 1
                    self._bytes += facts.st_blocks * 512
                    if stat.S_ISDIR(facts.st_mode):
                        pending.append(entry.path)
                    yield
