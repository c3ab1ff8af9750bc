"""Finds files that have no name any more. They take up the disk as long as a process has them open or mapped."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from _vivarium.surveyor.descriptors import open_files, threads_of
from _vivarium.surveyor.processes import parent_pid

_READ = 1 << 16
_REMOVED = b" (deleted)"


def unnamed_files(pids: list[int], device: int) -> Iterator[int]:
    """Yield the size of each once, and nothing for everything else that has to be looked at meanwhile."""
    seen: set[tuple[int, int]] = set()
    for pid in pids:
        for facts in open_files(pid):
            key = (facts.st_dev, facts.st_ino)
            is_new = facts.st_nlink == 0 and stat.S_ISREG(facts.st_mode) and key not in seen
            if is_new and _is_on_disk(facts.st_dev, device):
                seen.add(key)
                yield facts.st_blocks * 512
            else:
                yield 0
    inodes = {inode for _, inode in seen}
    foreign: set[int] | None = None
    for pid in pids:
        sizes: dict[int, int] = {}
        for found in _removed_mappings(pid, device):
            if found is not None:
                inode, end = found
                sizes[inode] = max(sizes.get(inode, 0), end)
            yield 0
        if sizes and foreign is None:  # libraries that were replaced since the zygote loaded them
            foreign = {found[0] for found in _removed_mappings(parent_pid(), device) if found is not None}
        for inode in sizes.keys() - inodes - (foreign or set()):
            inodes.add(inode)
            yield sizes[inode]


def _removed_mappings(pid: int, device: int) -> Iterator[tuple[int, int] | None]:
    """Yield inode and end of each part of a removed file that a process has mapped, and None after each piece."""
    for thread in threads_of(pid):
        is_alive = False
        for found in _mappings_of(thread, device):
            is_alive = True
            yield found
        if is_alive:
            return  # the others have the same; one that has ended shows none


def _mappings_of(thread: int, device: int) -> Iterator[tuple[int, int] | None]:
    try:
        fd = os.open(f"/proc/{thread}/maps", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # it has just ended
        return
    rest = b""
    try:
        while chunk := os.read(fd, _READ):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line.endswith(_REMOVED):
                    span, _, offset, where, inode, *_ = line.split(None, 5)
                    start, end = (int(number, 16) for number in span.split(b"-"))
                    major, minor = (int(number, 16) for number in where.split(b":"))
                    if _is_on_disk(os.makedev(major, minor), device):
                        yield int(inode), int(offset, 16) + end - start
            yield None
    except OSError:
        return
    finally:
        os.close(fd)


def _is_on_disk(found: int, device: int) -> bool:
    """Whether a file takes up a disk. Those in memory have no device, and are counted as memory."""
    return found == device or os.major(found) != 0
