"""What the processes of a session have open."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from _vivarium.confine import kernel

_OF_A_THREAD = os.O_EXCL


def open_files(pid: int) -> Iterator[os.stat_result]:
    """Yield the facts about everything that a process has open. Its threads need not have the same files open."""
    for thread in threads_of(pid):
        try:
            yield from _listed(f"/proc/{pid}/task/{thread}/fd")
        except PermissionError:  # an ordinary user may not list it if its program cannot be read
            yield from _copied(pid, thread)


def socket_inodes(pids: list[int]) -> set[int]:
    """Return the numbers of all sockets that processes have open."""
    return {facts.st_ino for pid in pids for facts in open_files(pid) if stat.S_ISSOCK(facts.st_mode)}


def threads_of(pid: int) -> list[int]:
    """Return the threads of a process; none if it is gone."""
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def _listed(directory: str) -> Iterator[os.stat_result]:
    try:
        names = os.listdir(directory)
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return
    for name in names:
        try:
            yield os.stat(f"{directory}/{name}")
        except OSError:  # closed meanwhile
            continue


def _copied(pid: int, thread: int) -> Iterator[os.stat_result]:
    """Take a copy of each descriptor, look at it, and close it."""
    try:
        names = os.listdir(f"/proc/{pid}/task/{thread}/fdinfo")
        handle = kernel.syscall("pidfd_open", thread, 0 if thread == pid else _OF_A_THREAD)
    except OSError:  # the pid 1, which is ours
        return
    try:
        for name in names:
            try:
                copy = kernel.syscall("pidfd_getfd", handle, int(name), 0)
            except OSError:  # closed meanwhile
                continue
            try:
                yield os.fstat(copy)
            finally:
                os.close(copy)
    finally:
        os.close(handle)
