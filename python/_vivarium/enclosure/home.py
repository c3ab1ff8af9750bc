"""The directories of a session outside its walls: its files, temporary ones, and what was installed for it."""

from __future__ import annotations

import os


def make_directories(home: str, owner: int | None) -> None:
    """Make the directories of a session, owned by its user id. Raises where something else has taken their place."""
    opened = _make_directory(home, None, owner)
    try:
        for name in ("workspace", "rollback"):
            os.close(_make_directory(name, opened, owner))
        _make_packages(opened)
    finally:
        os.close(opened)


def make_temporary(home: str, owner: int | None, symlinks: tuple[tuple[str, str], ...]) -> None:
    """Make the directories of /tmp and /dev/shm. Those of an earlier enclosure stay as they are."""
    made = []
    for path in (f"{home}/tmp", f"{home}/shm"):
        try:
            os.mkdir(path, 0o700)
            made.append(path)
        except FileExistsError:
            continue
    if f"{home}/tmp" in made:
        for path, points_to in symlinks:
            os.makedirs(os.path.dirname(home + path), exist_ok=True)
            os.symlink(points_to, home + path)
            made.append(os.path.dirname(home + path))
    for path in made:
        if owner is not None:
            os.chown(path, owner, owner, follow_symlinks=False)


def _make_packages(home: int) -> None:
    """Make the directory for what is installed for a session. It stays ours: the session reads it, and can ask here."""
    opened = _make_directory("packages", home, None)
    try:
        os.chmod("packages", 0o755, dir_fd=home)
        for name in ("site", "bin", "answers"):
            os.close(_make_directory(name, opened, None))
            os.chmod(name, 0o755, dir_fd=opened)
        try:
            os.mkfifo("wishes", 0o622, dir_fd=opened)
            os.chmod("wishes", 0o622, dir_fd=opened)  # whatever the umask
        except FileExistsError:
            pass
    finally:
        os.close(opened)


def _make_directory(name: str, parent: int | None, owner: int | None) -> int:
    """Make a directory, unless an earlier enclosure or a builder that was killed has. Returns a descriptor of it."""
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except FileExistsError:
        pass
    if owner is not None:
        os.chown(name, owner, owner, dir_fd=parent, follow_symlinks=False)
    return os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
