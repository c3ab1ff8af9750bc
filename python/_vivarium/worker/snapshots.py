"""Keeps copies of the workspace's files, so that a run can be undone on disk as well."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator

from _vivarium.worker.removal import remove

MAX_DEPTH = 100  # levels of directories; also keeps every path well below the kernel's limit
MAX_PATH_BYTES = 3_000
SETTLED_NS = 50_000_000  # a file changed more recently may change again with the same times
Identity = tuple[int, ...]


class Entry:
    """What is known of one path: `kind` is "file", "directory", "link" or "other" (left alone)."""

    def __init__(self, kind: str, mode: int = 0, mtime_ns: int = 0, content: str = "") -> None:
        self.kind = kind
        self.mode = mode
        self.mtime_ns = mtime_ns
        self.content = content  # name in the store; for links their target


class Manifest:
    """The workspace at one moment; paths are relative to it, and "." is the workspace itself."""

    def __init__(self, entries: dict[str, Entry], notes: Iterable[str] = ()) -> None:
        self.entries = entries
        self.notes = list(notes)


class Snapshots:
    """Copies of the workspace in `store`, each file kept once for as long as it does not change."""

    def __init__(self, workspace: str, store: str, max_files: int, max_bytes: int = 0) -> None:
        self._workspace = workspace
        self._store = store
        self.max_bytes = max_bytes
        self._max_files = max_files
        self._known: dict[str, tuple[Identity, str]] = {}  # path: the file as it was seen, and its copy

    def take(self) -> Manifest | str:
        """Copy what changed since the last time. Returns the reason instead if the workspace is too large."""
        shut: dict[str, int] = {}
        try:
            os.makedirs(self._store, mode=0o700, exist_ok=True)
            found = self._survey(shut)
            return found if isinstance(found, str) else self._copy_all(found)
        except OSError as error:
            return f"the workspace cannot be copied: {error.strerror or error}"
        finally:
            for folder, mode in reversed(shut.items()):
                _quietly_chmod(folder, mode)

    def restore(self, manifest: Manifest) -> list[str]:
        """Restore the workspace. Returns what could not be restored."""
        notes: list[str] = []
        try:
            present = self._remove_new(manifest, notes)
        except OSError as error:
            return [f"the workspace cannot be read: {error.strerror or error}"]
        for path, entry in sorted(manifest.entries.items()):
            try:
                self._restore(path, entry, present.get(path))
            except OSError as error:
                notes.append(f"{_shown(path)}: {error.strerror or error}")
        for path, entry in sorted(manifest.entries.items(), reverse=True):
            if entry.kind == "directory":  # last, because a directory without write permission takes no files
                _quietly_chmod(self._path(path), entry.mode)
        return notes

    def forget(self, manifests_in_use: Iterable[Manifest | str | None]) -> None:
        """Remove copies that no manifest in use refers to. Reasons that `take` returned instead refer to none."""
        used = set()
        for manifest in manifests_in_use:
            if isinstance(manifest, Manifest):
                used |= {entry.content for entry in manifest.entries.values() if entry.kind == "file"}
        try:
            stored = os.listdir(self._store)
        except OSError:
            stored = []
        for name in stored:
            if name not in used:
                _quietly_unlink(os.path.join(self._store, name))
        self._known = {path: known for path, known in self._known.items() if known[1] in used}

    def _path(self, path: str) -> str:
        return os.path.join(self._workspace, path)

    def _survey(self, shut: dict[str, int]) -> dict[str, os.stat_result] | str:
        """Return all paths with their state, or the reason why there are too many."""
        found: dict[str, os.stat_result] = {}
        total = 0
        for path, status in _walk(self._workspace, shut):
            found[path] = status
            total += status.st_size if stat.S_ISREG(status.st_mode) else 0
            if total > self.max_bytes:
                return f"the workspace holds more than {self.max_bytes} bytes"
            if len(found) > self._max_files + 1:  # the workspace itself does not count
                return f"the workspace holds more than {self._max_files} files"
            if path.count("/") >= MAX_DEPTH or len(os.fsencode(path)) > MAX_PATH_BYTES:
                return f"the workspace has more than {MAX_DEPTH} levels of directories"
        return found

    def _copy_all(self, found: dict[str, os.stat_result]) -> Manifest:
        stored = set(os.listdir(self._store))
        entries: dict[str, Entry] = {}
        notes: list[str] = []
        known: dict[str, tuple[Identity, str]] = {}
        for path, status in found.items():
            try:
                entry, seen = self._entry(path, status, stored)
            except FileNotFoundError:
                continue
            except (PermissionError, _LeftOut) as error:
                entry, seen = Entry("other"), None
                notes.append(f"{_shown(path)}: left out: {getattr(error, 'strerror', None) or error}")
            entries[path] = entry
            if seen is not None:
                known[path] = seen, entry.content
        self._known = known
        return Manifest(entries, notes)

    def _entry(self, path: str, status: os.stat_result, stored: set[str]) -> tuple[Entry, Identity | None]:
        """Describe one path, with a copy of its content if it is a file that changed."""
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISDIR(status.st_mode):
            return Entry("directory", mode), None
        if stat.S_ISLNK(status.st_mode):
            return Entry("link", 0, 0, os.readlink(self._path(path))), None
        if not stat.S_ISREG(status.st_mode):
            raise _LeftOut("neither file, directory nor link")
        known = self._known.get(path)
        if known is not None and known[0] == _identity(status) and known[1] in stored:
            return Entry("file", mode, status.st_mtime_ns, known[1]), known[0]
        status, content = self._copy(path)
        settled = max(status.st_mtime_ns, status.st_ctime_ns) + SETTLED_NS < time.time_ns()
        return Entry("file", mode, status.st_mtime_ns, content), _identity(status) if settled else (0,)

    def _copy(self, path: str) -> tuple[os.stat_result, str]:
        """Copy one file into the store; returns its state and the name of the copy."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(self._path(path), flags), "rb", buffering=0) as source:
            status = os.fstat(source.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise _LeftOut("changed meanwhile")
            name = os.urandom(12).hex()
            with open(os.path.join(self._store, name), "xb", buffering=0) as target:
                _copy_bytes(source.fileno(), target.fileno(), status.st_size)
        return status, name

    def _remove_new(self, manifest: Manifest, notes: list[str]) -> dict[str, os.stat_result]:
        """Remove what the manifest does not have, or has as another kind; returns the state of the rest."""
        present: dict[str, os.stat_result] = {}
        unwanted = []
        for path, status in _walk(self._workspace, {}, manifest):
            entry = manifest.entries.get(path)
            if entry is None or (entry.kind != "other" and entry.kind != _kind(status)):
                unwanted.append(path)
            else:
                present[path] = status
        for path in unwanted:
            try:
                remove(self._path(path), self._workspace)
            except OSError as error:
                notes.append(f"{_shown(path)}: {error.strerror or error}")
        return present

    def _restore(self, path: str, entry: Entry, status: os.stat_result | None) -> None:
        target = self._path(path)
        if entry.kind == "directory":
            if status is None:
                os.mkdir(target)
            os.chmod(target, entry.mode | 0o700)
        elif entry.kind == "link":
            if status is None or os.readlink(target) != entry.content:
                _quietly_unlink(target)
                os.symlink(entry.content, target)
        elif entry.kind == "file":
            self._restore_file(path, entry, status)

    def _restore_file(self, path: str, entry: Entry, status: os.stat_result | None) -> None:
        target = self._path(path)
        known = self._known.get(path)
        if status is not None and known is not None and known == (_identity(status), entry.content):
            return
        source = os.path.join(self._store, entry.content)
        if status is None or status.st_nlink > 1 or not _overwrite(source, target):
            beside = os.path.join(os.path.dirname(target), f".{os.urandom(8).hex()}")
            _copy_into(source, os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            os.replace(beside, target)
        os.chmod(target, entry.mode)
        os.utime(target, ns=(entry.mtime_ns, entry.mtime_ns), follow_symlinks=False)
        self._known[path] = _identity(os.lstat(target)), entry.content


class _LeftOut(Exception):
    """A path that no copy can be made of."""


def _walk(root: str, shut: dict[str, int], within: Manifest | None = None) -> Iterator[tuple[str, os.stat_result]]:
    """Yield each path below `root` with its own state, links unfollowed, parents first, "." for `root` itself.

    Directories whose mode shuts us out are opened and noted in `shut`. A path that `within` does not have as a
    directory is not entered.
    """
    yield ".", os.stat(root)
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        for name, status in _list(os.path.join(root, folder), shut):
            path = f"{folder}/{name}" if folder else name
            yield path, status
            entered = within is None or (path in within.entries and within.entries[path].kind == "directory")
            if entered and stat.S_ISDIR(status.st_mode):
                waiting.append(path)


def _list(folder: str, shut: dict[str, int]) -> list[tuple[str, os.stat_result]]:
    """Return the names in a directory with their state, without those that vanish meanwhile."""
    mode = stat.S_IMODE(os.lstat(folder).st_mode)
    if mode & 0o700 != 0o700:
        shut[folder] = mode
        _quietly_chmod(folder, mode | 0o700)
    found = []
    with os.scandir(folder) as listing:
        for item in listing:
            try:
                found.append((item.name, item.stat(follow_symlinks=False)))
            except FileNotFoundError:
                continue
    return found


def _identity(status: os.stat_result) -> Identity:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _kind(status: os.stat_result) -> str:
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}
    return kinds.get(stat.S_IFMT(status.st_mode), "other")


def _copy_bytes(source: int, target: int, size: int) -> None:
    """Copy at most `size` bytes inside the kernel: a file that grows meanwhile is cut there."""
    done = 0
    while done < size:
        count = os.sendfile(target, source, done, min(size - done, 1 << 30))
        if count == 0:
            break
        done += count


def _overwrite(source: str, target: str) -> bool:
    """Write the content into the existing file, so that processes which have it open still see the same file."""
    try:
        os.chmod(target, 0o600)
        flags = os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        _copy_into(source, os.open(target, flags))
    except OSError:
        return False
    return True


def _copy_into(source: str, target: int) -> None:
    """Copy a whole file to a descriptor, and close that."""
    with open(target, "wb", buffering=0) as writer, open(source, "rb", buffering=0) as reader:
        _copy_bytes(reader.fileno(), writer.fileno(), os.fstat(reader.fileno()).st_size)


def _quietly_chmod(path: str, mode: int) -> None:
    try:
        os.chmod(path, mode)
    except OSError:
        return  # not ours; a later step that needs it open reports the error


def _quietly_unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # gone already, or a directory that remains


def _shown(path: str) -> str:
    return os.fsencode(path)[:200].decode("utf-8", "replace")
