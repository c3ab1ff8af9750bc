"""Follows the files of a session from inside: which paths of the workspace were touched since the last look."""

from __future__ import annotations

import os

from _vivarium.changes.inotify import DONT_FOLLOW, Queue
from _vivarium.changes.tree import Changes, Tree
from _vivarium.worker.join import CONTROL, PRIVATE_FDS


class Following:
    """Asks the kernel, once `begin` was called. Whenever the answer may be incomplete there is none."""

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self._queue: Queue | None = None
        self._tree = Tree(lambda _: None)

    @property
    def is_on(self) -> bool:
        """Return whether directories are watched."""
        return self._queue is not None

    def begin(self) -> None:
        """Follow from now on; each directory must be entered before it is listed."""
        try:
            queue = self._queue or Queue(CONTROL + PRIVATE_FDS)
            queue.read()  # what happened before does not matter
        except OSError:  # the user has too many of them, or the kernel has none: then everything is looked at
            self.stop()
            return
        self._queue = queue  # kept, because closing one with many watches takes long
        self._tree = Tree(queue.unwatch)
        for path in _mapped_files(self._workspace):
            self._tree.suspect(path)

    def enter(self, path: str) -> None:
        """Watch one directory. If that fails, nothing is followed any more."""
        if self._queue is None:
            return
        try:
            self._tree.add(self._queue.watch(os.path.join(self._workspace, path), DONT_FOLLOW), path)
        except OSError:  # too many watches, or a directory that has just gone
            self.stop()

    def changes(self) -> Changes | None:
        """Return what was touched since the last call, or None if that is not known."""
        if self._queue is None:
            return None
        try:
            for event in self._queue.read():
                self._tree.note(event)
        except OSError:  # the program has closed the descriptor, which may be another file's by now
            self._queue = None
            return None
        return self._tree.take()

    def mapped(self) -> frozenset[str]:
        """Return the files that can change without an event, because this process has mapped them into memory."""
        return frozenset(_mapped_files(self._workspace))

    def stop(self) -> None:
        """Follow nothing. A copy of this process must call it: both would take events from the same queue."""
        queue, self._queue = self._queue, None
        if queue is not None:
            try:
                queue.close()
            except OSError:
                return  # the program has closed it


def _mapped_files(workspace: str) -> list[str]:
    """Return the files of the workspace that this process has mapped to be written."""
    try:
        fd = os.open("/proc/self/maps", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return []  # an enclosure without /proc
    with open(fd, "rb", buffering=0) as file:
        maps = file.read()
    if b" rw-s " not in maps:
        return []
    prefix = os.fsencode(workspace) + b"/"
    found = []
    for line in maps.split(b"\n"):
        head, _, path = line.partition(b"/")
        if b" rw-s " in head and (b"/" + path).startswith(prefix):
            found.append(os.fsdecode((b"/" + path)[len(prefix) :]))
    return found
