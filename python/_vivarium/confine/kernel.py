"""Calls the Linux kernel by name: namespaces, mounts, process attributes and file descriptors."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import socket
import struct
from collections.abc import Iterable

from _vivarium.confine import textfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # slow to load

ARCH = os.uname().machine

# Empty on an unknown architecture: then every call fails with ENOSYS, which the probe reports.
SYSCALLS: dict[str, int] = json.loads(textfile.read(f"{os.path.dirname(__file__)}/syscalls.json")).get(ARCH, {})

NEWNS = 0x00020000
NEWCGROUP = 0x02000000
NEWUTS = 0x04000000
NEWIPC = 0x08000000
NEWUSER = 0x10000000
NEWPID = 0x20000000
NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_NOATIME = 1024
MS_NODIRATIME = 2048
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MS_RELATIME = 1 << 21

_RESOLVE_IN_ROOT = 0x10
_MNT_DETACH = 2
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SIOCSIFFLAGS = 0x8914
_IFF_UP_RUNNING = 0x1 | 0x40
_HIGHEST_FD = 0x7FFFFFFF

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long


def syscall(name: str, *args: Any) -> int:
    """Make a system call. Arguments are integers, bytes (passed by address) or ctypes objects."""
    if name not in SYSCALLS:
        raise OSError(errno.ENOSYS, f"{name}: unknown on {ARCH}")
    result = _LIBC.syscall(ctypes.c_long(SYSCALLS[name]), *map(_argument, args))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def unshare(flags: int) -> None:
    """Enter new namespaces of the kinds in `flags`."""
    syscall("unshare", flags)


def setns(fd: int, kind: int = 0) -> None:
    """Join the namespace behind `fd`."""
    syscall("setns", fd, kind)


def mount(source: str | None, target: str, fstype: str | None = None, flags: int = 0, data: str | None = None) -> None:
    """Mount a file system; errors name source and target."""
    texts = [None if text is None else os.fsencode(text) for text in (source, target, fstype, data)]
    try:
        syscall("mount", texts[0], texts[1], texts[2], flags, texts[3])
    except OSError as error:
        message = f"mount of {fstype or source or 'flags'} on {target}: {os.strerror(error.errno or 0)}"
        raise OSError(error.errno, message) from error


def unmount(target: str) -> None:
    """Detach a mount and everything below it at once, even if it is busy."""
    syscall("umount2", os.fsencode(target), _MNT_DETACH)


def pivot_root(new: str, old: str) -> None:
    """Make `new` the root; the former root appears at `old`."""
    syscall("pivot_root", os.fsencode(new), os.fsencode(old))


def prctl(op: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0) -> int:
    """Change or read an attribute of this process."""
    return syscall("prctl", op, a, b, c, d)


def open_in_root(directory: int, path: str) -> int:
    """Open a file for reading as if `directory` were the root: no link leads out of it. Needs Linux 5.6."""
    how = struct.pack("QQQ", os.O_RDONLY | os.O_CLOEXEC, 0, _RESOLVE_IN_ROOT)
    return syscall("openat2", directory, os.fsencode(path), how, len(how))


def set_dumpable(flag: bool) -> None:
    """Set whether processes of the same user may inspect this one, and own its /proc entries."""
    prctl(_PR_SET_DUMPABLE, int(flag))


def no_new_privileges() -> None:
    """Give up set-uid programs and file capabilities for good; seccomp and Landlock need this."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def become_subreaper() -> None:
    """Become the parent of orphaned descendants."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent thread ends."""
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def set_hostname(name: bytes) -> None:
    """Set the name of the machine in a UTS namespace of its own."""
    syscall("sethostname", name, len(name))


def loopback_up() -> None:
    """Bring up `lo` in a network namespace of its own."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP_RUNNING))


def close_fds_except(keep: Iterable[int]) -> None:
    """Close every file descriptor from 3 up that is not in `keep`."""
    first = 3
    for fd in sorted({*(fd for fd in keep if fd >= 3), _HIGHEST_FD}):
        if fd > first:
            _close_range(first, fd - 1)
        first = fd + 1


def _argument(value: Any) -> Any:
    """Return a value in the type that ctypes passes in a full register."""
    if value is None:
        return ctypes.c_void_p(None)
    if isinstance(value, int):
        return ctypes.c_long(value)
    return ctypes.c_char_p(value) if isinstance(value, bytes) else value


def _close_range(first: int, last: int) -> None:
    """Close a range; if close_range(2) is missing or filtered, close each open descriptor."""
    try:
        syscall("close_range", first, last, 0)
    except OSError:
        for fd in _open_fds():
            if first <= fd <= last:
                os.closerange(fd, fd + 1)


def _open_fds() -> Iterable[int]:
    """Return descriptors that may be open; all possible ones if there is no /proc."""
    try:
        return [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        return range(3, hard if 0 < hard < 1 << 20 else 1 << 20)
