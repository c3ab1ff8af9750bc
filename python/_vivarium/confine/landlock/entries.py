"""The entries of a process in /proc that a session may read where it has the /proc of the machine.

The others tell about the machine: its connections (`net`), mounts, control groups and namespaces. Landlock opens whole
directories or single files, so what a program needs to know about itself is opened one by one.
"""

from __future__ import annotations

import os

FILES = (
    *("auxv", "cmdline", "comm", "environ", "io", "limits", "maps", "mem", "oom_score", "oom_score_adj", "sched"),
    *("schedstat", "smaps", "smaps_rollup", "stat", "statm", "status"),
)
# Threads and descriptors: their names are enough. Below each thread, all of the above is found again.
FOLDERS = ("fd", "task")


def files(pid: int) -> list[str]:
    """Return the paths that may be read."""
    return [f"/proc/{pid}/{name}" for name in FILES]


def folders(pid: int) -> list[str]:
    """Return the paths that may be listed."""
    return [f"/proc/{pid}/{name}" for name in FOLDERS]


def pin(pid: int) -> list[int]:
    """Keep these entries in the kernel's memory while the returned descriptors are open.

    A rule of Landlock is about an inode. Those of /proc are made when they are looked up and forgotten when memory is
    short, and the next one would be closed.
    """
    found = []
    for path in (*files(pid), *folders(pid)):
        try:
            found.append(os.open(path, os.O_PATH | os.O_CLOEXEC))
        except FileNotFoundError:  # this kernel was built without it
            continue
    return found
