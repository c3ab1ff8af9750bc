"""Builds a root file system for the calling process and moves into it."""

from __future__ import annotations

import os
import stat

from _vivarium.confine import kernel
from _vivarium.confine.root import contents, mounts
from _vivarium.record import Record

# While building: the host's tree and the new one, both below a small tmpfs.
_OLD = "/old"
_NEW = "/new"
_BASE_BYTES = 4 << 20
_BASE_INODES = 4096
_LARGEST_ETC_FILE = 1 << 20


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
    `network`: show name resolution and certificates of the host. `certificates`: only the latter.
    `hosts`: further lines of /etc/hosts.
    `host`: where the root of the machine is, if the files here are copies of its own.
    `shm`: the size of /dev/shm, or the directory of the host that is shown there.
    `devices`: names below /dev. A shared mapping of `zero` is memory that only a memory cgroup counts.
    """

    read_only: tuple[str, ...]
    binds: tuple[Bind, ...] = ()
    tmpfs: tuple[tuple[str, int, int], ...] = ()
    symlinks: tuple[tuple[str, str], ...] = ()
    proc: str = "masked"
    network: bool = False
    certificates: bool = False
    hosts: str = ""
    host: str = ""
    shm: int | str = 64 << 20
    user: tuple[int, int] = (1000, 1000)
    devices: tuple[str, ...] = ("null", "zero", "full", "random", "urandom")


class _Piece(Record):
    """What to put at `target`: a link, a file with this content, a tmpfs, or a bind of the resolved `source`."""

    target: str
    source: str = ""
    writable: bool = False
    link: str | None = None
    content: bytes | None = None
    is_vital: bool = True
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
    contents.write_etc(f"{_NEW}/etc", root.user, root.hosts)
    contents.make_dev(f"{_NEW}/dev", _OLD, root.devices, shm)
    contents.make_proc(f"{_NEW}/proc", root.proc, f"{_OLD}/proc", f"{_NEW}/dev/null")
    for path, points_to in root.symlinks:
        parent, name = _open_parent(path)
        os.symlink(points_to, name, dir_fd=parent)
        os.close(parent)
    _leave_old_root()
    os.umask(mask)


def _plan(root: Root) -> list[_Piece]:
    """Resolve every source while links of the host still work. Parents come before children."""
    pieces = [_same_place(path) for path in root.read_only if os.path.lexists(path)]
    etc = contents.etc_paths(root.network, root.certificates)
    pieces += [_etc_piece(path, root) for path in etc if os.path.exists(path)]
    pieces += [_Piece(bind.target, os.path.realpath(bind.source), bind.writable) for bind in root.binds]
    pieces += [_Piece(target, tmpfs=(size, inodes)) for target, size, inodes in root.tmpfs]
    return sorted(pieces, key=lambda piece: os.path.normpath(piece.target).count("/"))


def _same_place(path: str) -> _Piece:
    """Return a host path at the same place: a link as a link, everything else as a bind."""
    if os.path.islink(path):
        return _Piece(path, link=os.readlink(path))
    return _Piece(path, os.path.realpath(path))


def _etc_piece(path: str, root: Root) -> _Piece:
    """Return a part of /etc: links to /usr stay links, others become what they point to.

    Files of the machine are copied. It replaces them while we run (with every new library a new ld.so.cache comes), and
    what was replaced cannot be bound again. Name servers change, so a session has those of its own time.
    """
    real = os.path.realpath(path)
    if root.host and path in contents.CHANGING:
        return _Piece(path, content=_read_in(root.host, path) or _read(real))
    if os.path.islink(path) and real.startswith("/usr/"):
        return _same_place(path)
    if root.host or os.path.isdir(real):
        return _Piece(path, real, is_vital=False)
    return _Piece(path, content=_read(real))


def _read(path: str | int) -> bytes:
    with open(path, "rb") as file:
        return file.read(_LARGEST_ETC_FILE)


def _read_in(top: str, path: str) -> bytes:
    """Read a file of another root, whose links lead to where they lead there. Empty where that is not possible."""
    parent = os.open(top, os.O_PATH | os.O_CLOEXEC)
    try:
        return _read(kernel.open_in_root(parent, path))
    except OSError:  # it is gone, or this kernel does not know the call
        return b""
    finally:
        os.close(parent)


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
    parent, name = _open_parent(piece.target)
    try:
        if piece.link is not None:
            if not _exists(name, parent):
                os.symlink(piece.link, name, dir_fd=parent)
        elif piece.tmpfs is not None:
            os.close(_open_directory(name, parent))
            mounts.tmpfs(_NEW + os.path.normpath(f"/{piece.target}"), *piece.tmpfs)
        elif piece.content is not None:
            contents.make_file(name, piece.content, parent=parent)
        else:
            _bind(piece, name, parent)
    except FileNotFoundError:
        if piece.is_vital:
            raise  # else it was a directory of /etc that the machine has removed since
    finally:
        os.close(parent)


def _bind(piece: _Piece, name: str, parent: int) -> None:
    source = _OLD + piece.source
    if os.path.isdir(source):
        target = _open_directory(name, parent)
    else:
        if not _exists(name, parent):
            contents.make_file(name, parent=parent)
        target = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        if stat.S_ISLNK(os.fstat(target).st_mode):
            raise ValueError(f"{piece.target} is a link, so nothing can be mounted there")
        mounts.bind(source, target, writable=piece.writable, mountinfo=f"{_OLD}/proc/self/mountinfo")
    finally:
        os.close(target)


def _open_parent(path: str) -> tuple[int, str]:
    """Open the directory above `path` in the new root, and make what is missing. Returns it with the last name.

    No link is followed: sessions that had this /tmp, or have a mount that is placed already, can have put links there.
    """
    *folders, name = os.path.normpath(f"/{path}").strip("/").split("/")
    opened = os.open(_NEW, os.O_PATH | os.O_CLOEXEC)
    for folder in folders:
        try:
            inner = _open_directory(folder, opened)
        except NotADirectoryError as error:
            raise ValueError(f"{path} lies behind a link, or behind a file") from error
        finally:
            os.close(opened)
        opened = inner
    return opened, name


def _open_directory(name: str, parent: int) -> int:
    """Open a directory, and make it if it is not there."""
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        pass
    return os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)


def _exists(name: str, parent: int) -> bool:
    try:
        os.lstat(name, dir_fd=parent)
    except FileNotFoundError:
        return False
    return True


def _leave_old_root() -> None:
    """Detach the tree of the host, make the new one the root, and make it read-only."""
    kernel.unmount(_OLD)
    os.chdir(_NEW)
    kernel.pivot_root(".", ".")
    kernel.unmount(".")
    os.chdir("/")
    mounts.make_read_only("/")
