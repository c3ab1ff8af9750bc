"""One inotify instance of the kernel: directories are watched, and what happens to the names in them is queued."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct

from _vivarium.confine import kernel

ATTRIB = 0x4
MODIFY = 0x2
CLOSE_WRITE = 0x8
CLOSE_NOWRITE = 0x10
OPEN = 0x20
MOVED_FROM = 0x40
MOVED_TO = 0x80
CREATE = 0x100
DELETE = 0x200
DELETE_SELF = 0x400
MOVE_SELF = 0x800
UNMOUNT = 0x2000
OVERFLOW = 0x4000
IGNORED = 0x8000
IS_DIRECTORY = 0x40000000

DONT_FOLLOW = 0x02000000
_ONLY_DIRECTORY = 0x01000000
_EXCLUDE_UNLINKED = 0x04000000
_OF_FILES = ATTRIB | MODIFY | CLOSE_WRITE | CLOSE_NOWRITE | OPEN
_OF_NAMES = MOVED_FROM | MOVED_TO | CREATE | DELETE | DELETE_SELF | MOVE_SELF
_MASK = _OF_FILES | _OF_NAMES | _ONLY_DIRECTORY | _EXCLUDE_UNLINKED
_HEAD = struct.Struct("iIII")
_READ_BYTES = 1 << 18

Event = tuple[int, int, int, str]  # the number of the watch, what happened, the number of a move, the name


class Queue:
    """Events are queued while the call that causes them goes on: when a program has ended, all of them are here."""

    def __init__(self, wanted_fd: int = 0) -> None:
        """Open it. Raises OSError where the user has as many as are allowed, or the kernel has none."""
        self._fd = kernel.syscall("inotify_init1", os.O_CLOEXEC | os.O_NONBLOCK)
        if self._fd >= wanted_fd:
            return
        try:
            moved = fcntl.fcntl(self._fd, fcntl.F_DUPFD_CLOEXEC, wanted_fd)
        except OSError:
            return  # above the limit of this process: any number does
        os.close(self._fd)
        self._fd = moved

    def watch(self, path: str, flags: int = 0) -> int:
        """Watch a directory. Returns its number, which is the same for the same directory."""
        return kernel.syscall("inotify_add_watch", self._fd, os.fsencode(path), _MASK | flags)

    def unwatch(self, number: int) -> None:
        """Stop watching a directory, if it is still there."""
        try:
            kernel.syscall("inotify_rm_watch", self._fd, number)
        except OSError:
            return  # the kernel has removed the watch with the directory

    def read(self) -> list[Event]:
        """Return what has happened since the last call."""
        events: list[Event] = []
        if stat.S_IFMT(os.fstat(self._fd).st_mode) != 0:
            raise OSError(errno.EBADF, "somebody closed the queue, and its number is another file's now")
        while True:
            try:
                data = os.read(self._fd, _READ_BYTES)
            except BlockingIOError:
                return events
            position = 0
            while position < len(data):
                number, mask, cookie, length = _HEAD.unpack_from(data, position)
                position += _HEAD.size
                name = data[position : position + length].partition(b"\0")[0]
                position += length
                events.append((number, mask, cookie, os.fsdecode(name)))

    def close(self) -> None:
        """Give up all watches."""
        os.close(self._fd)
