"""What the processes of a session have open."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator


def open_files(pid: int) -> Iterator[os.stat_result]:
    """Yield the facts about everything that a process has open."""
    directory = f"/proc/{pid}/fd"
    try:
        names = os.listdir(directory)
    except OSError:  # it has just ended
        return
    for name in names:
        try:
            yield os.stat(f"{directory}/{name}")
        except OSError:  # closed meanwhile
            continue


def socket_inodes(pids: list[int]) -> set[int]:
    """Return the numbers of all sockets that processes have open."""
    return {facts.st_ino for pid in pids for facts in open_files(pid) if stat.S_ISSOCK(facts.st_mode)}
