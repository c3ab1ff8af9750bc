"""Removes files and directory trees of any depth, whatever their modes."""

from __future__ import annotations

import os
import stat


def remove(path: str, workspace: str) -> None:
    """Remove `path` and all below it; `workspace` holds, on the same file system, the tree while it is taken apart.

    Directories are moved side by side into one folder before they are emptied: no path gets long, no recursion deep.
    """
    parent = os.path.dirname(path)
    open_up(parent)
    if not _is_directory(path):
        os.unlink(path)
        return
    bin_folder = os.path.join(workspace, f".{os.urandom(8).hex()}")
    os.mkdir(bin_folder, 0o700)
    try:
        waiting = [_move(path, bin_folder)]
        while waiting:
            folder = waiting.pop()
            waiting += _empty(folder, bin_folder)
            os.rmdir(folder)
    finally:
        os.rmdir(bin_folder)


def _empty(folder: str, bin_folder: str) -> list[str]:
    """Remove the files in `folder` and move its directories out; returns where they are now."""
    moved = []
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if _is_directory(path):
            moved.append(_move(path, bin_folder))
        else:
            os.unlink(path)
    return moved


def _move(path: str, bin_folder: str) -> str:
    """Move a directory, made writable first: its entry for the parent changes."""
    os.chmod(path, 0o700)
    moved = os.path.join(bin_folder, os.urandom(8).hex())
    os.rename(path, moved)
    return moved


def _is_directory(path: str) -> bool:
    return stat.S_ISDIR(os.lstat(path).st_mode)


def open_up(folder: str) -> None:
    """Make a directory usable by its owner, if its mode shuts us out."""
    mode = stat.S_IMODE(os.lstat(folder).st_mode)
    if mode & 0o700 != 0o700:
        os.chmod(folder, mode | 0o700)
