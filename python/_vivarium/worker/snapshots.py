"""Keeps copies of the workspace's files, so that a run can be undone on disk as well."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable

from _vivarium.changes.tree import Changes
from _vivarium.worker.copies import Copies, LeftOut, copy_into, overwrite, quietly_unlink
from _vivarium.worker.following import Following
from _vivarium.worker.removal import remove
from _vivarium.worker.survey import Found, Identity, identity_of, is_draft, kind_of, quietly_chmod, walk

MAX_DEPTH = 100  # levels of directories; also keeps every path well below the kernel's limit
MAX_PATH_BYTES = 3_000
SETTLED_NS = 50_000_000  # a file changed more recently may change again with the same times
# From so many paths on, asking the kernel what was touched is faster than looking at all of them.
FOLLOWED_PATHS = 100


class Entry:
    """What is known of one path: `kind` is "file", "directory", "link" or "other" (left alone)."""

    def __init__(self, kind: str, mode: int = 0, content: str = "") -> None:
        self.kind = kind
        self.mode = mode
        self.content = content  # name in the store; for links their target, for others why they are left out
        self.mtime_ns = 0
        self.size = 0
        self.identity: Identity = ()  # as long as the file has it, the copy is good
        self.is_linked = False  # it has other names, by which it can change


class Manifest:
    """The workspace at one moment; paths are relative to it, and "." is the workspace itself."""

    def __init__(self, entries: dict[str, Entry]) -> None:
        self.entries = entries

    @property
    def notes(self) -> list[str]:
        """What was left out, and why."""
        others = ((path, entry) for path, entry in self.entries.items() if entry.kind == "other")
        return [f"{_shown(path)}: left out: {entry.content}" for path, entry in others]


class Snapshots:
    """Copies of the workspace in `store`, each file kept once for as long as it does not change."""

    def __init__(self, workspace: str, store: str, max_files: int, max_bytes: int = 0) -> None:
        self._workspace = workspace
        self.max_bytes = max_bytes
        self._max_files = max_files
        self._copies = Copies(store)
        self._following = Following(workspace)
        self._entries: dict[str, Entry] = {}  # as they were at the last look
        self._linked: set[str] = set()
        self._bytes = 0
        self._refusal: _TooLarge | None = None  # why there were no copies at the last look
        self._is_large = False

    def take(self) -> Manifest | str:
        """Copy what changed since the last time. Returns the reason instead if the workspace is too large."""
        shut: dict[str, int] = {}
        try:
            is_known = self._copies.refresh()
            changes = self._following.changes()
            if not is_known or changes is None or not self._update(changes):
                self._survey(shut)
            self._refusal = None
            return Manifest(dict(self._entries))
        except _TooLarge as refusal:
            self._refusal, self._is_large = refusal, True
            self._retire(self._entries.values())
            self._entries = {}
            return str(refusal)
        except OSError as error:
            self._following.stop()
            return f"the workspace cannot be copied: {error.strerror or error}"
        finally:
            for folder, mode in reversed(shut.items()):
                quietly_chmod(folder, mode)

    def restore(self, manifest: Manifest) -> list[str]:
        """Restore the workspace. Returns what could not be restored."""
        notes: list[str] = []
        try:
            present = self._remove_new(manifest, notes)
        except OSError as error:
            return [f"the workspace cannot be read: {error.strerror or error}"]
        mapped = self._following.mapped()
        for path, entry in sorted(manifest.entries.items()):
            if path in mapped:
                entry.identity = ()
            try:
                self._restore(path, entry, present.get(path))
            except OSError as error:
                notes.append(f"{_shown(path)}: {error.strerror or error}")
        for path, entry in sorted(manifest.entries.items(), reverse=True):
            if entry.kind == "directory":  # last, because a directory without write permission takes no files
                quietly_chmod(self._path(path), entry.mode)
        return notes

    def forget(self, earlier: Manifest | str | None) -> None:
        """Remove the copies that neither the last `take` nor an earlier one refers to. A reason refers to none."""
        if not self._copies.has_retired:
            return
        manifests = [self._entries, earlier.entries if isinstance(earlier, Manifest) else {}]
        used = {entry.content for entries in manifests for entry in entries.values() if entry.kind == "file"}
        try:
            self._copies.forget(used)
        except OSError:
            return  # the store is gone, and the next look finds that out

    def detach(self) -> None:
        """In a copy of this process: what the other one does is not known, so the next look is at everything."""
        self._following.stop()

    def _path(self, path: str) -> str:
        return os.path.join(self._workspace, path)

    def _survey(self, shut: dict[str, int]) -> None:
        """Look at everything. A workspace that was large the last time is followed from now on."""
        if self._is_large:
            self._following.begin()
        else:
            self._following.stop()
        known, self._entries = self._entries, {}
        self._linked.clear()
        self._bytes = 0
        try:
            found = []
            total = 0
            for path, status in walk(self._workspace, shut, enter=self._following.enter):
                total += status.st_size if stat.S_ISREG(status.st_mode) else 0
                found.append((path, status))
                self._check(path, len(found), total)
            for path, status in found:
                self._add(path, status, known.pop(path, None))
            self._is_large = len(found) > FOLLOWED_PATHS
        finally:
            self._retire(known.values())

    def _update(self, changes: Changes) -> bool:
        """Look at what was touched. Returns False if that does not suffice."""
        if self._refusal is not None:
            if changes.has_removals or (changes.touched and self._refusal.is_by_size):
                return False
            raise self._refusal
        old: dict[str, Entry] = {}
        try:
            for folder in changes.folders:
                old.update({path: self._drop(path) for path in self._below(folder)})
            mapped = self._following.mapped() if changes.is_open else frozenset()
            for path in sorted({*changes.touched, *changes.folders, *self._linked}):
                if _is_below(path, changes.folders):
                    continue  # it is looked at with the directory
                if path in self._entries:
                    old[path] = self._drop(path)
                for each, status in self._look(path, is_deep=path in changes.folders):
                    known = old.pop(each, None)
                    if known is not None and each in mapped:
                        known.identity = ()
                    self._add(each, status, known)
                    self._check(each, len(self._entries), self._bytes)
                    if each in self._linked and not (known and known.is_linked):
                        return False  # the same file under its other name has to be found
        finally:
            self._retire(old.values())
        return self._following.is_on

    def _look(self, path: str, *, is_deep: bool) -> Iterable[Found]:
        """Yield a path, if it is there, and with `is_deep` everything below it."""
        try:
            if is_deep:
                yield from walk(self._workspace, {}, start=path, enter=self._following.enter)
            elif not is_draft(os.path.basename(path)):
                yield path, os.lstat(self._path(path))
        except (FileNotFoundError, NotADirectoryError):
            return  # it has gone again

    def _below(self, folder: str) -> list[str]:
        prefix = f"{folder}/"
        return [path for path in self._entries if path.startswith(prefix)]

    def _check(self, path: str, count: int, total: int) -> None:
        if total > self.max_bytes:
            raise _TooLarge(f"the workspace holds more than {self.max_bytes} bytes", is_by_size=True)
        if count > self._max_files + 1:  # the workspace itself does not count
            raise _TooLarge(f"the workspace holds more than {self._max_files} files")
        if path.count("/") >= MAX_DEPTH or len(os.fsencode(path)) > MAX_PATH_BYTES:
            raise _TooLarge(f"the workspace has more than {MAX_DEPTH} levels of directories")

    def _add(self, path: str, status: os.stat_result, known: Entry | None) -> None:
        """Describe one path, with a copy of its content if it is a file that changed."""
        try:
            entry = self._entry(path, status, known)
        except FileNotFoundError:
            entry = None
        except (PermissionError, LeftOut) as error:
            entry = Entry("other", content=getattr(error, "strerror", None) or str(error))
        if known is not None and (entry is None or entry.content != known.content):
            self._retire([known])
        if entry is not None:
            self._entries[path] = entry
            self._bytes += entry.size
            if entry.is_linked:
                self._linked.add(path)

    def _drop(self, path: str) -> Entry:
        entry = self._entries.pop(path)
        self._bytes -= entry.size
        self._linked.discard(path)
        return entry

    def _retire(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            if entry.kind == "file":
                self._copies.retire(entry.content)

    def _entry(self, path: str, status: os.stat_result, known: Entry | None) -> Entry:
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISDIR(status.st_mode):
            return Entry("directory", mode)
        if stat.S_ISLNK(status.st_mode):
            return Entry("link", 0, os.readlink(self._path(path)))
        if not stat.S_ISREG(status.st_mode):
            raise LeftOut("neither file, directory nor link")
        identity = identity_of(status)
        if known is None or known.identity != identity or not self._copies.has(known.content):
            status, content = self._copies.add(self._path(path))
            settled = max(status.st_mtime_ns, status.st_ctime_ns) + SETTLED_NS < time.time_ns()
            identity = identity_of(status) if settled else ()
        else:
            content = known.content
        entry = Entry("file", mode, content)
        entry.mtime_ns, entry.size, entry.identity = status.st_mtime_ns, status.st_size, identity
        entry.is_linked = status.st_nlink > 1
        return entry

    def _remove_new(self, manifest: Manifest, notes: list[str]) -> dict[str, os.stat_result]:
        """Remove what the manifest does not have, or has as another kind; returns the state of the rest."""
        present: dict[str, os.stat_result] = {}
        unwanted = []

        def is_kept(path: str) -> bool:
            return path == "." or (path in manifest.entries and manifest.entries[path].kind == "directory")

        for path, status in walk(self._workspace, {}, enter=is_kept):
            entry = manifest.entries.get(path)
            if path != "." and (entry is None or (entry.kind != "other" and entry.kind != kind_of(status))):
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
            mode = entry.mode | 0o700
            if status is None:
                os.mkdir(target, mode)  # at once: at the level `landlock` it may not be possible to change it
            if status is None or stat.S_IMODE(status.st_mode) != mode:  # one of the host's own must not be changed
                os.chmod(target, mode)
        elif entry.kind == "link":
            if status is None or os.readlink(target) != entry.content:
                quietly_unlink(target)
                os.symlink(entry.content, target)
        elif entry.kind == "file":
            self._restore_file(path, entry, status)

    def _restore_file(self, path: str, entry: Entry, status: os.stat_result | None) -> None:
        target = self._path(path)
        if status is not None and identity_of(status) == entry.identity:
            return
        source = self._copies.path(entry.content)
        if status is None or status.st_nlink > 1 or not overwrite(source, target):
            beside = os.path.join(os.path.dirname(target), f".{os.urandom(8).hex()}")
            try:
                copy_into(source, os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, entry.mode))
                os.replace(beside, target)
            except OSError:
                quietly_unlink(beside)  # on a full disk, for one
                raise
        os.chmod(target, entry.mode)
        os.utime(target, ns=(entry.mtime_ns, entry.mtime_ns), follow_symlinks=False)
        entry.identity = identity_of(os.lstat(target))


class _TooLarge(Exception):
    """The workspace is above a limit of copies."""

    def __init__(self, reason: str, *, is_by_size: bool = False) -> None:
        super().__init__(reason)
        self.is_by_size = is_by_size


def _is_below(path: str, folders: Iterable[str]) -> bool:
    """Return whether one of the directories that lead to a path is among `folders`."""
    parent = path.rpartition("/")[0]
    while parent and parent not in folders:
        parent = parent.rpartition("/")[0]
    return bool(parent)


def _shown(path: str) -> str:
    return os.fsencode(path)[:200].decode("utf-8", "replace")
