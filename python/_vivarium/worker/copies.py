"""A directory of copies of files, each under a name that is never used again."""

from __future__ import annotations

import os
import stat


class LeftOut(Exception):
    """A path that no copy can be made of."""


class Copies:
    """Adds and removes copies. What others do to the directory is noticed by its times."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._names: set[str] = set()
        self._retired: set[str] = set()
        self._seen_ns = 0

    def refresh(self) -> bool:
        """Make sure of what is there. Returns whether it is what we left there."""
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        if os.stat(self._directory).st_mtime_ns == self._seen_ns:
            return True
        self._names = set(os.listdir(self._directory))
        self._retired |= self._names  # `forget` is told which of them are in use
        self._settle()
        return False

    def has(self, name: str) -> bool:
        """Return whether there is such a copy."""
        return name in self._names

    def path(self, name: str) -> str:
        """Return where a copy is."""
        return os.path.join(self._directory, name)

    def add(self, path: str) -> tuple[os.stat_result, str]:
        """Copy a file; returns its state and the name of the copy."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(path, flags), "rb", buffering=0) as source:
            status = os.fstat(source.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise LeftOut("changed meanwhile")
            name = os.urandom(12).hex()
            with open(self.path(name), "xb", buffering=0) as target:
                copy_bytes(source.fileno(), target.fileno(), status.st_size)
        self._names.add(name)
        self._settle()
        return status, name

    def retire(self, name: str) -> None:
        """Remove a copy at the next `forget`, unless it is in use."""
        self._retired.add(name)

    @property
    def has_retired(self) -> bool:
        """Return whether there may be something to forget."""
        return bool(self._retired)

    def forget(self, used: set[str]) -> None:
        """Remove the copies that are retired and not used."""
        for name in self._retired - used:
            quietly_unlink(self.path(name))
            self._names.discard(name)
        self._retired &= used
        self._settle()

    def _settle(self) -> None:
        self._seen_ns = os.stat(self._directory).st_mtime_ns


def copy_bytes(source: int, target: int, size: int) -> None:
    """Copy at most `size` bytes inside the kernel: a file that grows meanwhile is cut there.

    File systems that can share the blocks of two files do so here, and then copying takes no time.
    """
    done = 0
    try:
        while done < size:
            count = os.copy_file_range(source, target, min(size - done, 1 << 30), done, done)
            if count == 0:
                break
            done += count
    except OSError:  # between two file systems, or one that cannot do it; an error of the disk comes again below
        pass
    os.lseek(target, done, os.SEEK_SET)
    while done < size:
        count = os.sendfile(target, source, done, min(size - done, 1 << 30))
        if count == 0:
            break
        done += count


def copy_into(source: str, target: int) -> None:
    """Copy a whole file to a descriptor, and close that."""
    with open(target, "wb", buffering=0) as writer, open(source, "rb", buffering=0) as reader:
        copy_bytes(reader.fileno(), writer.fileno(), os.fstat(reader.fileno()).st_size)


def overwrite(source: str, target: str) -> bool:
    """Write the content into the existing file, so that processes which have it open still see the same file.

    If there is no room for it, the file stays as it is.
    """
    try:
        mode = stat.S_IMODE(os.lstat(target).st_mode)
        os.chmod(target, 0o600)
    except OSError:
        return False
    try:
        flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(target, flags), "wb", buffering=0) as writer, open(source, "rb", buffering=0) as reader:
            size = os.fstat(reader.fileno()).st_size
            _reserve(writer.fileno(), size)
            copy_bytes(reader.fileno(), writer.fileno(), size)
            os.truncate(writer.fileno(), size)
    except OSError:
        os.chmod(target, mode)
        return False
    return True


def _reserve(fd: int, size: int) -> None:
    """Make sure that a file has room for as many bytes, without changing what it holds."""
    before = os.fstat(fd).st_size
    try:
        if size > 0:
            os.posix_fallocate(fd, 0, size)
    except OSError:
        os.truncate(fd, before)
        raise


def quietly_unlink(path: str) -> None:
    """Remove a name, if that is possible."""
    try:
        os.unlink(path)
    except OSError:
        return  # gone already, or a directory that remains
