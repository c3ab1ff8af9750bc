"""Changes the identity of a process: maps ids, changes ids, drops capabilities."""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from _vivarium.confine import kernel

INSIDE_ID = 1000  # the user and group of a session, as the session sees it

_CAP_SETPCAP = 8
_CAPABILITY_VERSION = 0x20080522
_PR_CAPBSET_DROP = 24
_PR_SET_SECUREBITS = 28
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4

# NOROOT, NO_SETUID_FIXUP, KEEP_CAPS off and NO_CAP_AMBIENT_RAISE, each with its lock.
_SECUREBITS = 0xEF


def map_ids(inside: int, outside_uid: int, outside_gid: int) -> None:
    """Map this process to the id `inside` in its new user namespace. No other id exists there."""
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{inside} {outside_uid} 1\n")
    _write("/proc/self/gid_map", f"{inside} {outside_gid} 1\n")


def become(uid: int, gid: int) -> None:
    """Take these ids for good. Afterwards the process is not dumpable, unless that is set again."""
    if os.getgroups():  # a namespace with one mapped id refuses setgroups, even of an empty list
        os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def drop_capabilities() -> None:
    """Give up every capability, and every way to get one back."""
    # Without this capability the bounding set cannot change; then `no_new_privileges` makes it useless.
    if _effective_capabilities() >> _CAP_SETPCAP & 1:
        _empty_bounding_set()
        kernel.prctl(_PR_SET_SECUREBITS, _SECUREBITS)
    kernel.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    kernel.syscall("capset", struct.pack("Ii", _CAPABILITY_VERSION, 0), bytes(24))
    if _effective_capabilities():
        raise OSError(errno.EPERM, "capset: capabilities are still held")


def _empty_bounding_set() -> None:
    """Drop capabilities by number, until the kernel does not know one."""
    for capability in range(64):
        try:
            kernel.prctl(_PR_CAPBSET_DROP, capability)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            return


def _effective_capabilities() -> int:
    """Return the effective set as a bit mask."""
    data = ctypes.create_string_buffer(24)
    kernel.syscall("capget", struct.pack("Ii", _CAPABILITY_VERSION, 0), data)
    low, _, _, high, _, _ = struct.unpack("6I", data.raw)
    return high << 32 | low


def _write(path: str, text: str) -> None:
    """Write in one call, as id map files require."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    except OSError as error:
        raise OSError(error.errno, f"{path}: {os.strerror(error.errno or 0)}") from error
    finally:
        os.close(fd)
