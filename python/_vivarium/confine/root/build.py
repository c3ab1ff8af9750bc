"""Builds a root file system for the calling process and moves into it."""

from __future__ import annotations

import os

from _vivarium.confine import kernel
from _vivarium.confine.root import contents, mounts
from _vivarium.record import Record

# While building: the host's tree and the new one, both below a small tmpfs.
_OLD = "/old"
_NEW = "/new"
_BASE_BYTES = 4 << 20
_BASE_INODES = 4096


class Bind(Record):
    """A file or directory of the host, shown at `target`."""

    source: str
    target: str
    writable: bool = False


class Root(Record):
    """What a process sees of the file system.

    `read_only`: host paths shown at the same place; missing ones are skipped, symbolic links stay links.
    `tmpfs`: (target, bytes, inodes). `symlinks`: (path, what it points to).
    `proc`: 'masked', 'plain' (fresh and unmasked, so that masked ones can be mounted inside), 'outer' or 'none'.
    `network`: show name resolution and certificates of the host.
    `shm`: the size of /dev/shm, or the directory of the host that is shown there.
    `devices`: names below /dev. A shared mapping of `zero` is memory that only a memory cgroup counts.
    """

    read_only: tuple[str, ...]
    binds: tuple[Bind, ...] = ()
    tmpfs: tuple[tuple[str, int, int], ...] = ()
    symlinks: tuple[tuple[str, str], ...] = ()
    proc: str = "masked"
    network: bool = False
    shm: int | str = 64 << 20
    user: tuple[int, int] = (1000, 1000)
    devices: tuple[str, ...] = ("null", "zero", "full", "random", "urandom")


class _Piece(Record):
    """What to put at `target`: a link, a bind of the resolved `source`, or a tmpfs."""

    target: str
    source: str = ""
    writable: bool = False
    link: str | None = None
    tmpfs: tuple[int, int] | None = None


def system_paths() -> tuple[str, ...]:
    """Return where programs and libraries of the system are on this host."""
    candidates = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32")
    return tuple(path for path in candidates if os.path.lexists(path))


def build(root: Root) -> None:
    """Move into a new root, in a mount namespace of our own. Nothing of the old one stays reachable."""
    mask = os.umask(0o022)
    pieces = _plan(root)
    shm = root.shm if isinstance(root.shm, int) else os.path.realpath(root.shm)
    _enter_base()
    os.mkdir(f"{_NEW}/etc")
    for piece in pieces:
        _place(piece)
    contents.write_etc(f"{_NEW}/etc", root.user)
    contents.make_dev(f"{_NEW}/dev", _OLD, root.devices, shm)
    contents.make_proc(f"{_NEW}/proc", root.proc, f"{_OLD}/proc", f"{_NEW}/dev/null")
    for path, points_to in root.symlinks:
        os.symlink(points_to, _make_parent(path))
    _leave_old_root()
    os.umask(mask)


def _plan(root: Root) -> list[_Piece]:
    """Resolve every source while links of the host still work. Parents come before children."""
    pieces = [_same_place(path) for path in root.read_only if os.path.lexists(path)]
    pieces += [_etc_piece(path) for path in contents.etc_paths(root.network) if os.path.exists(path)]
    pieces += [_Piece(bind.target, os.path.realpath(bind.source), bind.writable) for bind in root.binds]
    pieces += [_Piece(target, tmpfs=(size, inodes)) for target, size, inodes in root.tmpfs]
    return sorted(pieces, key=lambda piece: os.path.normpath(piece.target).count("/"))


def _same_place(path: str) -> _Piece:
    """Return a host path at the same place: a link as a link, everything else as a bind."""
    if os.path.islink(path):
        return _Piece(path, link=os.readlink(path))
    return _Piece(path, os.path.realpath(path))


def _etc_piece(path: str) -> _Piece:
    """Return a file of /etc: links to /usr or /etc stay links, others become what they point to."""
    real = os.path.realpath(path)
    return _same_place(path) if real.startswith(("/usr/", "/etc/")) else _Piece(path, real)


def _enter_base() -> None:
    """Make a small tmpfs the root, with the host's tree below it, so that sources under /tmp stay reachable."""
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    base = next(path for path in ("/tmp", "/mnt", "/usr") if os.path.isdir(path))
    mounts.tmpfs(base, _BASE_BYTES, _BASE_INODES, mode="755")
    os.chdir(base)
    os.mkdir("new")
    os.mkdir("old", 0o700)
    kernel.mount("new", "new", None, kernel.MS_BIND)  # pivot_root needs a mount point
    kernel.pivot_root(".", "old")
    os.chdir("/")


def _place(piece: _Piece) -> None:
    """Put one piece into the new root."""
    target = _make_parent(piece.target)
    if piece.link is not None:
        if not os.path.lexists(target):
            os.symlink(piece.link, target)
    elif piece.tmpfs is not None:
        os.makedirs(target, exist_ok=True)
        mounts.tmpfs(target, *piece.tmpfs)
    else:
        if os.path.islink(target):  # a session that had this /tmp before can have put it there
            raise ValueError(f"{piece.target} is a link, so nothing can be mounted there")
        source = _OLD + piece.source
        if os.path.isdir(source):
            os.makedirs(target, exist_ok=True)
        elif not os.path.exists(target):
            contents.make_file(target)
        mounts.bind(source, target, writable=piece.writable, mountinfo=f"{_OLD}/proc/self/mountinfo")


def _make_parent(path: str) -> str:
    """Return the place of `path` in the new root, and make the directories above it."""
    target = _NEW + os.path.normpath(f"/{path}")
    parent = os.path.dirname(target)
    if not os.path.realpath(parent).startswith(_NEW):
        raise ValueError(f"{path} lies behind a link that leads out of the new root")
    os.makedirs(parent, exist_ok=True)
    return target


def _leave_old_root() -> None:
    """Detach the tree of the host, make the new one the root, and make it read-only."""
    kernel.unmount(_OLD)
    os.chdir(_NEW)
    kernel.pivot_root(".", ".")
    kernel.unmount(".")
    os.chdir("/")
    mounts.make_read_only("/")
