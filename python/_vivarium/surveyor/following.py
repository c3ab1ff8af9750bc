"""Follows the files of sessions from outside: what was touched in a home since the host asked the last time.

The trees are hostile. Directories are opened one by one from the home down, without following links, and watched by
their descriptors.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator

from _vivarium.changes.inotify import Event, Queue
from _vivarium.changes.tree import Tree
from _vivarium.surveyor.processes import Place, Processes, mapped_files
from _vivarium.values.hints import Any

MAX_DEPTH = 32  # the host lists no deeper directories
MAX_WATCHES = 20_000  # of one home
MAX_WATCHES_IN_ALL = 60_000
MAX_ENTRIES = 400_000
# Of one answer; for more the host had better look at everything.
MAX_ANSWER = 10_000
MAX_ANSWER_CHARS = 1 << 19  # a character takes up to 12 bytes, and the host takes 16 MiB
# Of the paths of all directories of a home: a session decides how long they are.
MAX_FOLDER_CHARS = 1 << 19
# A home with more events than this between two turns is not followed any more: somebody has to sort them.
MAX_EVENTS = 8_000
# What cannot be followed is not tried again for this long.
RETRY_S = 60.0
# The kernel keeps some thousand events for all homes together.
DRAIN_S = 0.1
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class Refused(Exception):
    """A home that cannot be followed: too large, or the kernel has no more watches."""


class Home:
    """One home that is followed, and its size as long as nothing is written in it."""

    def __init__(self, path: str, queue: Queue) -> None:
        self.path = path
        self.tree = Tree(queue.unwatch)
        self.mark = ""  # of the last answer
        self.folder_chars = 0
        self.size: tuple[int, int] | None = None


class Following:
    """All homes that the host asked about, on one inotify queue: a user may not have many of them."""

    def __init__(self, sessions: str, processes: Processes) -> None:
        self._sessions = sessions
        self._processes = processes
        self._queue: Queue | None = None
        self._homes: dict[str, Home] = {}
        self._by_watch: dict[int, Home] = {}
        self._refused_until: dict[str, float] = {}
        self._next_s = 0.0
        self._answers = 0

    def changes(self, question: dict[str, Any]) -> dict[str, object]:
        """Answer the host: the paths in a workspace that may have changed since an earlier answer, which it names.

        If that is not known there are none. From then on everything is noted, so a look at all files misses nothing.
        """
        place = question["place"]
        path = f"{self._sessions}/{place['workspace']}"
        self.drain()
        home = self._homes.get(path)
        found = self._found(home) if home is not None and home.mark == question["after"] else None
        if found is None:
            self._begin(path, Place(pid1=place["pid1"], worker=place["worker"], group=place["group"]))
        self._answers += 1
        mark = f"{os.getpid()}-{self._answers}"
        if path in self._homes:
            self._homes[path].mark = mark
        return {"mark": mark, "found": found}

    def _found(self, home: Home) -> dict[str, list[str]] | None:
        changes = home.tree.take()
        if changes is None:
            return None
        touched = {*changes.touched, *changes.folders}
        chars = sum(map(len, touched))
        try:
            for folder in changes.folders:
                for path in self._enter(home, folder):
                    touched.add(path)
                    chars += len(path)
                    if len(touched) > MAX_ANSWER or chars > MAX_ANSWER_CHARS:
                        return None
        except (OSError, Refused):
            return None
        if len(touched) > MAX_ANSWER or chars > MAX_ANSWER_CHARS:
            return None
        return {"touched": _in_workspace(touched), "folders": _in_workspace(changes.folders)}

    def forget(self, path: str) -> None:
        """Follow a home no longer."""
        home = self._homes.pop(path, None)
        for number in home.tree.watches if home is not None else ():
            self._by_watch.pop(number, None)
            if self._queue is not None:
                self._queue.unwatch(number)

    def size(self, path: str) -> tuple[int, int] | None:
        """Return bytes and entries of a home if they were measured and nothing was written since."""
        self.drain()
        home = self._homes.get(path)
        return home.size if home is not None and not home.tree.may_grow else None

    def begin_measuring(self, path: str) -> None:
        """From now on, what is written spoils the size that `keep_size` is told."""
        home = self._homes.get(path)
        if home is not None:
            home.size, home.tree.has_written = None, False

    def keep_size(self, path: str, size: tuple[int, int]) -> None:
        """Remember the size of a home."""
        home = self._homes.get(path)
        if home is not None:
            home.size = size

    def next_tick_s(self) -> float:
        """Return how long the loop may sleep, or -1 for ever."""
        return max(0.0, self._next_s - time.monotonic()) if self._homes else -1

    def tick(self) -> None:
        """Take events before the kernel has too many."""
        if self._homes and time.monotonic() >= self._next_s:
            self.drain()

    def drain(self) -> None:
        """Sort the events by homes."""
        self._next_s = time.monotonic() + DRAIN_S
        if self._queue is None:
            return
        counts: dict[str, int] = {}
        for event in self._queue.read():
            home = self._sort(event)
            if home is not None:
                counts[home.path] = counts.get(home.path, 0) + 1
        for path, count in counts.items():
            if count > MAX_EVENTS:
                self.forget(path)

    def _sort(self, event: Event) -> Home | None:
        """Note an event where it belongs. Returns the home that it is of."""
        if event[0] < 0:  # too many events: of whom is not known
            for home in self._homes.values():
                home.tree.note(event)
            return None
        home = self._by_watch.get(event[0])
        if home is None:
            return None
        home.tree.note(event)
        if event[0] not in home.tree:
            del self._by_watch[event[0]]
        if home.tree.is_lost:  # it moved, ended, or there is more than one would want to look at
            self.forget(home.path)
        return home

    def _begin(self, path: str, place: Place) -> None:
        """Follow a home from now on, if that is possible."""
        self.forget(path)
        now = time.monotonic()
        if self._refused_until.get(path, 0.0) > now:
            return
        self._refused_until = {each: until for each, until in self._refused_until.items() if until > now}
        try:
            if self._queue is None:
                self._queue = Queue()
            home = self._homes[path] = Home(path, self._queue)
            for _ in self._enter(home, "."):
                pass
        except (OSError, Refused):
            self.forget(path)
            self._refused_until[path] = now + RETRY_S
            return
        for mapped in mapped_files(self._processes.of(place)):
            _, found, below = mapped.rpartition("/workspace/")
            if found:
                home.tree.suspect(f"workspace/{below}")

    def _enter(self, home: Home, start: str) -> Iterator[str]:
        """Watch a directory and all below it, and yield the paths of everything in them."""
        descriptor = _open_below(home.path, start)
        if descriptor is None:
            return
        device = os.fstat(descriptor).st_dev
        pending: list[tuple[int, str, list[tuple[str, bool]]]] = [(descriptor, start, [])]
        entries = 0
        try:
            pending[0][2].extend(self._list(home, descriptor, start))
            while pending:
                parent, folder, names = pending[-1]
                if not names:
                    os.close(pending.pop()[0])
                    continue
                name, is_directory = names.pop()
                path = name if folder == "." else f"{folder}/{name}"
                yield path
                inner = _open(name, parent) if is_directory and path.count("/") <= MAX_DEPTH else None
                if inner is None:
                    continue
                pending.append((inner, path, []))
                if os.fstat(inner).st_dev == device:
                    pending[-1][2].extend(self._list(home, inner, path))
                    entries += len(pending[-1][2])
                if entries > MAX_ENTRIES:
                    raise Refused(f"more than {MAX_ENTRIES} entries")
        finally:
            for descriptor, _, _ in pending:
                os.close(descriptor)

    def _list(self, home: Home, descriptor: int, path: str) -> list[tuple[str, bool]]:
        """Watch a directory, then list it: what comes between is in both."""
        home.folder_chars += len(path)
        if self._queue is None or len(home.tree) >= MAX_WATCHES or len(self._by_watch) >= MAX_WATCHES_IN_ALL:
            raise Refused("too many directories")
        if home.folder_chars > MAX_FOLDER_CHARS:
            raise Refused("the paths of its directories are too long")
        number = self._queue.watch(f"/proc/self/fd/{descriptor}")
        home.tree.add(number, path)
        self._by_watch[number] = home
        with os.scandir(descriptor) as listing:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]


def _open_below(root: str, path: str) -> int | None:
    """Open a directory step by step; None if it is not there any more."""
    descriptor = _open(root, None)
    for name in path.split("/") if path != "." else ():
        if descriptor is None:
            return None
        inner = _open(name, descriptor)
        os.close(descriptor)
        descriptor = inner
    return descriptor


def _open(name: str, parent: int | None) -> int | None:
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise  # one that is locked could be opened and changed later, without our knowing
        return None


def _in_workspace(paths: set[str] | frozenset[str]) -> list[str]:
    return [path.removeprefix("workspace/") for path in paths if path.startswith("workspace/")]
