"""Lists the workspace with the state of each path, links unfollowed, without uploads that are not complete yet."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator

DRAFT_PREFIX = ".upload-"  # as in src/workspace/names.ts
DRAFT_LENGTH = len(DRAFT_PREFIX) + 16

Identity = tuple[int, ...]
Found = tuple[str, os.stat_result]


def walk(
    root: str,
    shut: dict[str, int],
    *,
    start: str = ".",
    enter: Callable[[str], object] | None = None,
) -> Iterator[Found]:
    """Yield each path below `start`, parents first, and `start` itself; "." stands for `root`.

    Directories whose mode shuts us out are opened and noted in `shut`. `enter` is called before a directory is listed,
    and may refuse that by returning False.
    """
    status = os.lstat(os.path.join(root, start))
    yield start, status
    waiting = [start] if stat.S_ISDIR(status.st_mode) else []
    while waiting:
        folder = waiting.pop()
        if enter is not None and enter(folder) is False:
            continue
        for name, status in _list(os.path.join(root, folder), shut):
            path = name if folder == "." else f"{folder}/{name}"
            yield path, status
            if stat.S_ISDIR(status.st_mode):
                waiting.append(path)


def is_draft(name: str) -> bool:
    """Return whether this is the name of a file that the host is still writing."""
    return (
        len(name) == DRAFT_LENGTH
        and name.startswith(DRAFT_PREFIX)
        and not name[len(DRAFT_PREFIX) :].strip("0123456789abcdef")
    )


def identity_of(status: os.stat_result) -> Identity:
    """Return what changes whenever the content of a file does."""
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def kind_of(status: os.stat_result) -> str:
    """Return what a path is."""
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}
    return kinds.get(stat.S_IFMT(status.st_mode), "other")


def quietly_chmod(path: str, mode: int) -> None:
    """Set the mode of a path, if that is possible."""
    try:
        os.chmod(path, mode)
    except OSError:
        return  # not ours; a later step that needs it open reports the error


def _list(folder: str, shut: dict[str, int]) -> list[tuple[str, os.stat_result]]:
    """Return the names in a directory with their state, without those that vanish meanwhile."""
    mode = stat.S_IMODE(os.lstat(folder).st_mode)
    if mode & 0o700 != 0o700:
        shut[folder] = mode
        quietly_chmod(folder, mode | 0o700)
    found = []
    with os.scandir(folder) as listing:
        for item in listing:
            if is_draft(item.name):
                continue
            try:
                found.append((item.name, item.stat(follow_symlinks=False)))
            except FileNotFoundError:
                continue
    return found
