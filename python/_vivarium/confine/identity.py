"""Changes the identity of a process: maps ids, changes ids, drops capabilities."""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from _vivarium.confine import kernel

INSIDE_ID = 1000  # the user and group of a session, as the session sees it

_IDS = 0xFFFFFFFF  # all but the last, which means none
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


def namespace_of(uid: int) -> int:
    """Return a user namespace in which root is `uid` and everybody else is who they are, as a descriptor."""
    ready, done = os.pipe(), os.pipe()
    helper = os.fork()
    if helper == 0:
        try:
            own = os.readlink("/proc/self")  # as this /proc counts, which may not be that of our pid namespace
            kernel.unshare(kernel.NEWUSER)
            os.write(ready[1], own.encode())
            os.close(done[1])
            os.read(done[0], 1)
        finally:
            os._exit(0)
    os.close(ready[1])
    try:
        entry = f"/proc/{os.read(ready[0], 32).decode()}"
        _write(f"{entry}/uid_map", f"0 {uid} 1\n1 1 {uid - 1}\n{uid + 1} {uid + 1} {_IDS - uid - 1}\n")
        _write(f"{entry}/gid_map", f"0 0 {_IDS}\n")
        return os.open(f"{entry}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        for fd in (ready[0], *done):
            os.close(fd)
        os.waitpid(helper, 0)


def become(uid: int, gid: int) -> None:
    """Take these ids for good. Afterwards the process is not dumpable, unless that is set again."""
    if os.getgroups():  # a namespace with one mapped id refuses setgroups, even of an empty list
        os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def watch_over(uid: int, own: int) -> None:
    """Take ids by which we can signal the processes of `uid`, while they cannot signal us, who are `own` to them."""
    if os.getgroups():
        os.setgroups([])
    os.setresgid(own, uid, own)  # what we fork can become the session, and that alone
    os.setresuid(own, uid, own)


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
