"""Measures the files of a session in small steps. The tree is hostile: it can change under the walk in any way."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator

from _vivarium.surveyor.following import Following
from _vivarium.surveyor.unnamed import unnamed_files

MAX_ENTRIES = 200_000
# Directories that are held open at a time. Only nested ones that have siblings need that.
MAX_OPEN = 256
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class DiskMeter:
    """Walks a tree again and again, by descriptors: names lead nowhere but into the directory at hand.

    Files without a name count as well, if one of the processes that `pids` tells holds them.
    """

    def __init__(self, path: str, following: Following, pids: Callable[[], list[int]]) -> None:
        self._following = following
        self._pids = pids
        self.is_measured = False
        self.total = 0  # of the last walk that came to its end
        self.path = path
        self.max_bytes = 0
        self._bytes = 0
        self._entries = 0
        self._is_too_deep = False
        self._is_stale = False
        self._is_suspected = False  # the last walk found too much, but the tree may have changed meanwhile
        self._walk: Iterator[None] | None = None

    def expire(self) -> None:
        """The tree may have changed. A walk that is under way goes on, but another one must follow it."""
        self.is_measured = False
        self._is_stale = self._walk is not None

    def close(self) -> None:
        """End a walk that is under way."""
        self._walk = None

    def is_over(self, seconds: float) -> bool:
        """Continue the walk for a moment. Returns whether it has already found too much."""
        return self._continue(seconds, stop_when_over=True)

    def measure(self, seconds: float) -> int | None:
        """Continue the walk for a moment. Returns the size if a walk has come to its end, else None."""
        self._continue(seconds, stop_when_over=False)
        return self.total if self.is_measured else None

    def _continue(self, seconds: float, *, stop_when_over: bool) -> bool:
        deadline = time.monotonic() + seconds
        for _ in self._begin() if self._walk is None else self._walk:
            if stop_when_over and self._is_over():
                return self._is_certain()
            if time.monotonic() > deadline:
                return False
        self._walk = None
        self.total = self._bytes
        self.is_measured, self._is_stale, self._is_suspected = not self._is_stale, False, False
        return self.is_measured and stop_when_over and self._is_over()

    def _is_certain(self) -> bool:
        """Too much was found. If some of it may be gone, it is counted again from the start, but only once."""
        if not self._is_stale or self._is_suspected:
            return True
        self._walk, self._is_stale, self._is_suspected = None, False, True
        return False

    def _begin(self) -> Iterator[None]:
        self._walk = self._walk_once()
        return self._walk

    def _is_over(self) -> bool:
        return self._bytes > self.max_bytes or self._entries > MAX_ENTRIES or self._is_too_deep

    def _walk_once(self) -> Iterator[None]:
        """Count what is there, one entry at a time, but not the tree if the last walk would find the same."""
        self._bytes = self._entries = 0
        self._is_too_deep = False
        known = self._following.size(self.path)
        if known is not None:
            self._bytes, self._entries = known
        else:
            self._following.begin_measuring(self.path)
            yield from self._walk_tree()
            if not self._is_too_deep:
                self._following.keep_size(self.path, (self._bytes, self._entries))
        yield from self._count_unnamed()

    def _count_unnamed(self) -> Iterator[None]:
        try:
            device = os.lstat(self.path).st_dev
        except OSError:  # the session has ended
            return
        for size in unnamed_files(self._pids(), device):
            self._bytes += size
            yield

    def _walk_tree(self) -> Iterator[None]:
        pending: list[tuple[int, list[str]]] = []  # open directories, and the directories in each that are still to do
        try:
            directory = _open(self.path, None)
            while directory is not None:
                inner: list[str] = []
                pending.append((directory, inner))
                yield from self._count(directory, inner)
                if len(pending) >= MAX_OPEN:
                    self._is_too_deep = True  # no program that means well nests directories like that
                    yield
                    return
                directory = _descend(pending)
        finally:
            for fd, _ in pending:
                os.close(fd)

    def _count(self, directory: int, inner: list[str]) -> Iterator[None]:
        try:
            listing = os.scandir(directory)
        except OSError:
            return  # unreadable or gone: what is below it cannot grow unseen for long
        with listing:
            for entry in _entries(listing):
                try:
                    facts = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                self._entries += 1
                self._bytes += facts.st_blocks * 512
                if stat.S_ISDIR(facts.st_mode):
                    inner.append(entry.name)
                yield


def _descend(pending: list[tuple[int, list[str]]]) -> int | None:
    """Open the next directory. One without further directories is closed, so a deep tree takes no more descriptors."""
    while pending:
        parent, names = pending[-1]
        opened = _open(names.pop(), parent) if names else None
        if not names:
            pending.pop()
            os.close(parent)
        if opened is not None:
            return opened
    return None


def _open(name: str, parent: int | None) -> int | None:
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except OSError:  # gone, locked, or something else by now
        return None


def _entries(listing: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
    """Yield entries of a directory that may change meanwhile; stops at an error."""
    try:
        yield from listing
    except OSError:
        return
