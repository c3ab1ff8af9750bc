"""Restricts which files, TCP ports and processes this process can reach, with Landlock."""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Iterable

from _vivarium.confine import kernel

_EXECUTE = 1 << 0
_WRITE_FILE = 1 << 1
_READ_FILE = 1 << 2
_READ_DIR = 1 << 3
_MAKE_CHAR = 1 << 6
_MAKE_BLOCK = 1 << 11
_REFER = 1 << 13
_TRUNCATE = 1 << 14
_IOCTL_DEV = 1 << 15
_FIRST_ABI_RIGHTS = (1 << 13) - 1
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

# What the level `landlock` needs, where Landlock is the first line. Sessions that have the uid of the host could signal
# everything of that user before version 6. Those that have uids of their own need no more than to move files between
# their directories; what else older versions lack is refused by the filter of system calls.
LEAST_WITH_SHARED_UID, _SINCE_SHARED = 6, "6.12"
LEAST_WITH_OWN_UIDS, _SINCE_OWN = 2, "5.19"
CAN_REFUSE_TRUNCATION = 3

_BIND_AND_CONNECT_TCP = 3
_SCOPE_ABSTRACT_UNIX_AND_SIGNALS = 3
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1


def abi() -> int:
    """Return the Landlock version of this kernel; 0 if it has none."""
    try:
        return kernel.syscall("landlock_create_ruleset", 0, 0, _CREATE_RULESET_VERSION)
    except OSError:
        return 0


def shortfall(version: int, *, has_own_uids: bool) -> str | None:
    """Return why this version is not enough for the level `landlock`, and what to do; None if it is."""
    least, since = (LEAST_WITH_OWN_UIDS, _SINCE_OWN) if has_own_uids else (LEAST_WITH_SHARED_UID, _SINCE_SHARED)
    if version >= least:
        return None
    has = f"has version {version}" if version else "has none, or it is not in its lsm= list"
    text = f"the level 'landlock' needs version {least} of Landlock (Linux {since}), and this kernel {has}"
    if has_own_uids:
        return text
    return f"{text}. As root, where sessions get user ids of their own, version {LEAST_WITH_OWN_UIDS} is enough"


def restrict(
    *,
    read_only: Iterable[str],
    read_write: Iterable[str],
    files: Iterable[str] = (),
    listed: Iterable[str] = (),
    mounts: Iterable[tuple[str, bool, tuple[int, int]]] = (),
    tcp: bool,
    list_root: bool,
) -> int:
    """Close everything that is not named, to this process and its children.

    Returns the Landlock version used, 0 if the kernel has none.

    `files` may be read and written but not made or removed (a directory stands for the files below it).
    `listed` are directories of which only the names can be read, there and below.
    `mounts` are paths that may be written or not, each with the device and inode that it must lead to.
    `tcp` leaves TCP open. `list_root` allows listing every directory. Missing paths stay closed.
    """
    version = abi()
    if version == 0:
        return 0
    handled = _handled(version)
    ruleset = kernel.syscall("landlock_create_ruleset", *_attributes(version, handled, tcp), 0)
    try:
        if list_root:
            _allow(ruleset, "/", handled & _READ_DIR)
        reading = handled & (_EXECUTE | _READ_FILE | _READ_DIR)
        writing = handled & ~(_MAKE_CHAR | _MAKE_BLOCK | _IOCTL_DEV)
        for path in read_only:
            _allow(ruleset, path, reading)
        for path in read_write:
            _allow(ruleset, path, writing, follows=False)  # an earlier interpreter of the session may have made a link
        for path, is_writable, identity in mounts:
            _allow(ruleset, path, writing if is_writable else reading, identity=identity)
        for path in listed:
            _allow(ruleset, path, handled & _READ_DIR)
        for path in files:
            _allow(ruleset, path, handled & (_READ_FILE | _WRITE_FILE | _TRUNCATE))
        kernel.syscall("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)
    return version


def _handled(version: int) -> int:
    """Return the rights on files that this version can refuse."""
    rights = _FIRST_ABI_RIGHTS
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        if version >= since:
            rights |= right
    return rights


def _attributes(version: int, handled: int, tcp: bool) -> tuple[bytes, int]:
    """Return the attributes of the ruleset, as long as this version understands, and their length."""
    size = 8 if version < 4 else 16 if version < 6 else 24
    network = 0 if tcp else _BIND_AND_CONNECT_TCP
    return struct.pack("QQQ", handled, network, _SCOPE_ABSTRACT_UNIX_AND_SIGNALS)[:size], size


def _allow(
    ruleset: int, path: str, rights: int, *, follows: bool = True, identity: tuple[int, int] | None = None
) -> None:
    """Allow `rights` on `path` and everything below it, if it leads to what it must lead to."""
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC | (0 if follows else os.O_NOFOLLOW))
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EACCES):
            return  # what cannot be reached needs no rule
        raise
    try:
        found = os.fstat(fd)
        if identity is not None and (found.st_dev, found.st_ino) != identity:
            raise OSError(errno.ESTALE, "a mount is not what it was when the session was created")
        if stat.S_ISLNK(found.st_mode):
            return
        if not stat.S_ISDIR(found.st_mode):
            rights &= _FILE_RIGHTS
        kernel.syscall("landlock_add_rule", ruleset, _RULE_PATH_BENEATH, struct.pack("=Qi", rights, fd), 0)
    finally:
        os.close(fd)
