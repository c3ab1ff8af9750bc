"""What happened in the watched directories of one tree, made of the events of an inotify queue."""

from __future__ import annotations

from collections.abc import Callable

from _vivarium.changes import inotify
from _vivarium.record import Record

# Two equal events in a row become one, so opening a file twice and closing it once can look as if it were closed. The
# names that were opened last are therefore looked at again, whatever the events say.
RECENTLY_OPENED = 32
# More are not looked at one by one.
MOST_OPEN = 1_000
MOST_TOUCHED = 20_000
MOST_CHARS = 4 << 20  # of all paths that were touched
_LOST = inotify.OVERFLOW | inotify.UNMOUNT
_OF_NAMES = inotify.CREATE | inotify.DELETE | inotify.MOVED_FROM | inotify.MOVED_TO
_WRITES = _OF_NAMES | inotify.MODIFY | inotify.ATTRIB | inotify.CLOSE_WRITE


class Changes(Record):
    """What may differ from the last look. Paths are relative to the tree, and "." is the tree itself."""

    touched: frozenset[str]
    folders: frozenset[str]  # directories that came, went or were replaced: everything below them may differ
    is_open: bool  # whether a file may be open: one that is mapped into memory changes without an event
    has_removals: bool


class Tree:
    """The directories of a tree by the numbers of their watches.

    Events name the path by which a file was reached, so the caller must look at files with several names each time.
    One that gets a second name, is changed by it and loses it again between two looks is not noticed.
    """

    def __init__(self, unwatch: Callable[[int], None]) -> None:
        self._unwatch = unwatch
        self._folders: dict[int, str] = {}
        self._touched: set[str] = set()
        self._chars = 0
        self._renewed: set[str] = set()
        self._open: dict[str, int] = {}
        self._recent: dict[str, None] = {}
        self._moving: dict[int, int] = {}
        self._has_removals = False
        self._is_lost = False
        self.has_written = False  # reset when the sizes are measured

    def __len__(self) -> int:
        return len(self._folders)

    def __contains__(self, number: int) -> bool:
        return number in self._folders

    @property
    def is_lost(self) -> bool:
        """Return whether it is not known any more what happened."""
        are_too_many = len(self._open) > MOST_OPEN or len(self._touched) > MOST_TOUCHED or self._chars > MOST_CHARS
        return self._is_lost or are_too_many

    @property
    def may_grow(self) -> bool:
        """Return whether files may take more or less room than when `has_written` was reset."""
        return self.has_written or self.is_lost or bool(self._open)

    @property
    def watches(self) -> list[int]:
        """The numbers of all watches."""
        return list(self._folders)

    def add(self, number: int, path: str) -> None:
        """Add a watched directory. It must be listed after it is watched, or something is missed."""
        self._folders[number] = path

    def suspect(self, path: str) -> None:
        """Look at a file each time from now on: it was open before the tree was watched."""
        self._open[path] = self._open.get(path, 0) + 1

    def note(self, event: inotify.Event) -> None:
        """Note one event of the queue, for one of our watches or for all."""
        number, mask, cookie, name = event
        if mask & _LOST:
            self._is_lost = self.has_written = True
            return
        folder = self._folders.get(number)
        if folder is None:
            return  # of a directory that was moved away a moment ago
        if mask & inotify.IGNORED:
            del self._folders[number]
        elif not name:
            self._note_folder(folder, mask)
        elif mask & inotify.IS_DIRECTORY:
            self._note_subfolder(name if folder == "." else f"{folder}/{name}", mask)
        else:
            self._note_file(name if folder == "." else f"{folder}/{name}", mask, cookie)

    def take(self) -> Changes | None:
        """Return what happened since the last call, or None if that is not known any more."""
        if self.is_lost:
            return None
        changes = Changes(
            touched=frozenset([*self._touched, *self._open, *self._recent]),
            folders=frozenset(self._renewed),
            is_open=bool(self._open),
            has_removals=self._has_removals,
        )
        self._touched.clear()
        self._chars = 0
        self._renewed.clear()
        self._has_removals = False
        return changes

    def _note_folder(self, folder: str, mask: int) -> None:
        """The directory itself. What happens to its own name is noted where it is listed, except for the topmost."""
        if mask & inotify.ATTRIB:
            self._touch(folder)
            self.has_written = True
        if folder == "." and mask & (inotify.DELETE_SELF | inotify.MOVE_SELF):
            self._is_lost = self.has_written = True

    def _note_subfolder(self, path: str, mask: int) -> None:
        if mask & _WRITES:
            self.has_written = True
            self._touch(path)
        if mask & _OF_NAMES:
            self._renewed.add(path)
        if mask & (inotify.MOVED_FROM | inotify.DELETE):
            self._has_removals = True
        if mask & inotify.MOVED_FROM:
            self._leave(path)

    def _leave(self, path: str) -> None:
        """A directory was moved away with all that is below. If it is still in the tree it is listed as a new one."""
        below = f"{path}/"
        for number, folder in list(self._folders.items()):
            if folder == path or folder.startswith(below):
                del self._folders[number]
                self._unwatch(number)
        if any(name.startswith(below) for name in self._open):
            self._is_lost = True  # files that stay open under names that nobody told

    def _note_file(self, path: str, mask: int, cookie: int) -> None:
        self._touch(path)
        if mask & _WRITES:
            self.has_written = True
        if mask & inotify.OPEN:
            self._open[path] = self._open.get(path, 0) + 1
            self._recent.pop(path, None)
            self._recent[path] = None
            if len(self._recent) > RECENTLY_OPENED:
                del self._recent[next(iter(self._recent))]
        elif mask & (inotify.CLOSE_WRITE | inotify.CLOSE_NOWRITE):
            self._settle(path, self._open.get(path, 0) - 1)
        elif mask & inotify.MOVED_FROM:
            self._has_removals = True
            self._moving = {cookie: self._open.pop(path, 0)}
        elif mask & inotify.MOVED_TO:
            self._settle(path, self._moving.pop(cookie, 1))  # of one from elsewhere it is not known
        elif mask & inotify.DELETE:
            self._has_removals = True
            self._open.pop(path, None)

    def _touch(self, path: str) -> None:
        if path not in self._touched:
            self._touched.add(path)
            self._chars += len(path)

    def _settle(self, path: str, count: int) -> None:
        if count > 0:
            self._open[path] = count
        else:
            self._open.pop(path, None)
