"""Mounts parts of a root: recursive binds, read-only or not, and small memory file systems."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import struct

from _vivarium.confine import identity, kernel

_AT_FDCWD = -100
_AT_SYMLINK_NOFOLLOW = 0x100
_AT_EMPTY_PATH = 0x1000
_AT_RECURSIVE = 0x8000
_CLONE = 1 | _AT_RECURSIVE | os.O_CLOEXEC  # for open_tree
_MOUNT_ATTR_IDMAP = 0x00100000
_MOVE_MOUNT_EMPTY_PATHS = 0x4 | 0x40  # of both ends, which descriptors name

# The same bits in mount(2) and in mount_setattr(2).
_SAFE = kernel.MS_NOSUID | kernel.MS_NODEV
_OPTION_FLAGS = {
    "ro": kernel.MS_RDONLY,
    "nosuid": kernel.MS_NOSUID,
    "nodev": kernel.MS_NODEV,
    "noexec": kernel.MS_NOEXEC,
    "noatime": kernel.MS_NOATIME,
    "nodiratime": kernel.MS_NODIRATIME,
    "relatime": kernel.MS_RELATIME,
}


def bind(source: str, target: str | int, *, writable: bool, mountinfo: str) -> None:
    """Show `source` and every mount below it at `target`, a path or a descriptor; all read-only unless `writable`."""
    try:
        _bind_tree(source, target, _SAFE | (0 if writable else kernel.MS_RDONLY))
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM):  # an old kernel, or a filter that knows only mount(2)
            raise OSError(error.errno, f"bind of {source} on {target}: {error.strerror}") from error
        place = f"{os.path.dirname(mountinfo)}/fd/{target}" if isinstance(target, int) else target
        bind_by_remount(source, place, writable=writable, mountinfo=mountinfo)


def bind_descriptor(source: int, target: str, root_as: int | None = None) -> None:
    """Show what a descriptor refers to, and every mount below it, at `target`; files of root as those of `root_as`."""
    try:
        tree = kernel.syscall("open_tree", source, b"", _CLONE | _AT_EMPTY_PATH)
        if root_as is not None:
            _map_root(tree, root_as)
        _attach(tree, target)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM):  # as in `bind`
            raise
        kernel.mount(f"/proc/self/fd/{source}", target, None, kernel.MS_BIND | kernel.MS_REC)


def bind_by_remount(source: str, target: str, *, writable: bool, mountinfo: str) -> None:
    """Do the same with the calls before Linux 5.12, where a remount is not recursive and must keep locked flags."""
    kernel.mount(source, target, None, kernel.MS_BIND | kernel.MS_REC)
    top = os.path.realpath(target)
    wanted = kernel.MS_REMOUNT | kernel.MS_BIND | _SAFE | (0 if writable else kernel.MS_RDONLY)
    for point, flags in _mounts(mountinfo):
        if point == top or point.startswith(top + "/"):
            kernel.mount(None, point, None, wanted | flags)


def bind_device(source: str, target: str) -> None:
    """Show one device node, as a device."""
    kernel.mount(source, target, None, kernel.MS_BIND)


def tmpfs(target: str, size: int, inodes: int, *, mode: str = "1777", flags: int = 0) -> None:
    """Mount an empty memory file system with hard limits."""
    kernel.mount("tmpfs", target, "tmpfs", _SAFE | flags, f"mode={mode},size={size},nr_inodes={inodes}")


def make_read_only(target: str, flags: int = 0) -> None:
    """Make one mount of our own read-only."""
    kernel.mount(None, target, None, kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | _SAFE | flags)


def _bind_tree(source: str, target: str | int, flags: int) -> None:
    """Clone the mounts at `source`, change them while they are detached, then attach them."""
    tree = kernel.syscall("open_tree", _AT_FDCWD, os.fsencode(source), _CLONE | _AT_SYMLINK_NOFOLLOW)
    _attach(tree, target, flags)


def _attach(tree: int, target: str | int, flags: int = 0) -> None:
    """Attach mounts that were cloned, with these flags. Closes their descriptor."""
    try:
        if flags:
            attributes = ctypes.create_string_buffer(struct.pack("QQQQ", flags, 0, 0, 0), 32)
            kernel.syscall("mount_setattr", tree, b"", _AT_EMPTY_PATH | _AT_RECURSIVE, attributes, 32)
        directory, path = (target, b"") if isinstance(target, int) else (_AT_FDCWD, os.fsencode(target))
        kernel.syscall("move_mount", tree, b"", directory, path, _MOVE_MOUNT_EMPTY_PATHS)
    finally:
        os.close(tree)


def _map_root(tree: int, uid: int) -> None:
    """Have files of root in a detached tree belong to `uid` there, unless the file system cannot do that."""
    try:
        namespace = identity.namespace_of(uid)
    except OSError:
        return
    try:
        attributes = ctypes.create_string_buffer(struct.pack("QQQQ", _MOUNT_ATTR_IDMAP, 0, 0, namespace), 32)
        kernel.syscall("mount_setattr", tree, b"", _AT_EMPTY_PATH | _AT_RECURSIVE, attributes, 32)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.EPERM, errno.EOPNOTSUPP):
            raise
    finally:
        os.close(namespace)


def _mounts(mountinfo: str) -> list[tuple[str, int]]:
    """Return every mount point with its flags."""
    with open(mountinfo, encoding="utf-8", errors="surrogateescape") as lines:
        rows = [line.split(" ") for line in lines]
    return [(_unescape(row[4]), sum(_OPTION_FLAGS.get(option, 0) for option in row[5].split(","))) for row in rows]


def _unescape(text: str) -> str:
    """Undo the octal escapes of mountinfo."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
