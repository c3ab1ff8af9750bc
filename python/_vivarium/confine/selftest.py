"""Tries, behind the closed walls, what they must refuse, so that their strength is tested and not assumed."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Callable

from _vivarium.confine import kernel

_AF_VSOCK = 40
_PTRACE_TRACEME = 0
_SIGNALS_ARE_SCOPED = 6  # from this version of Landlock on
_NOWHERE = ("192.0.2.1", 9)  # reserved for documentation; connecting works only if there is a route out
_OF_THE_STAGE = ("/.host", "/.sessions", "/.run", "/.groups")


class WallsOpen(Exception):
    """Something was possible that must be refused; the text names it."""


def verify(
    level: str,
    network: bool,
    limits: dict[str, int | tuple[int, int]],
    landlock: int,
    *,
    own_files: bool,
    is_pinned: bool = False,
) -> None:
    """Raise WallsOpen unless every try is refused and every limit is set; for levels that have walls.

    `landlock` is its version. Without `own_files`, the metadata of no file may change. A process that is pinned cannot
    choose its processors.
    """
    tries = _tries(level, network, landlock)
    if not own_files:
        tries["the modes of files"] = _change_mode
    if is_pinned:
        tries["other processors"] = lambda: os.sched_setaffinity(0, os.sched_getaffinity(0))
    open_ones = [name for name, is_refused in tries.items() if not _holds(is_refused)]
    open_ones += [f"the limit {name}" for name, value in limits.items() if not _is_set(name, value)]
    if open_ones:
        raise WallsOpen(f"the walls of the level '{level}' do not hold: {', '.join(open_ones)}")


def _tries(level: str, network: bool, landlock: int) -> dict[str, Callable[[], object]]:
    """Return what must fail, by the name of what would be open otherwise."""
    tries: dict[str, Callable[[], object]] = {
        "a user namespace of its own": lambda: kernel.unshare(kernel.NEWUSER),
        "mounting": lambda: kernel.mount("tmpfs", "/tmp", "tmpfs"),
        "tracing": lambda: kernel.syscall("ptrace", _PTRACE_TRACEME, 0, 0, 0),
        "the kernel's keys": lambda: kernel.syscall("keyctl", 0, 0, 0),
        "io_uring": lambda: kernel.syscall("io_uring_setup", 1, 0),
        "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close(),
        "vsock": lambda: socket.socket(_AF_VSOCK, socket.SOCK_STREAM).close(),
        "being root": lambda: os.setresuid(0, 0, 0),
        "another root directory": lambda: os.chroot("/"),
        "writing to the system": lambda: _create("/usr/.vivarium"),
    }
    if not network:
        tries["a network"] = _reach_out
    if level == "namespaces":
        tries["processes of the host"] = lambda: _must(os.getppid() != 0)
        tries["the settings of pid 1"] = lambda: os.sched_setaffinity(1, os.sched_getaffinity(0))
        tries["writing below /proc"] = lambda: os.close(os.open("/proc/self/comm", os.O_WRONLY))
        for path in _OF_THE_STAGE:
            tries[path] = lambda path=path: os.stat(path)
        if landlock >= _SIGNALS_ARE_SCOPED:
            tries["what Landlock refuses"] = lambda: os.kill(1, 0)
    else:
        tries["files of the host"] = lambda: os.close(os.open("/etc/passwd", os.O_RDONLY))
        tries["connections of the host"] = lambda: os.close(os.open("/proc/self/net/dev", os.O_RDONLY))
        tries["unix sockets of the host"] = lambda: socket.socket(socket.AF_UNIX).close()
        tries["its subreaper"] = lambda: os.kill(os.getppid(), 0)
        tries["the limits of others"] = lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CORE, (0, 0))
    return tries


def _holds(is_refused: Callable[[], object]) -> bool:
    try:
        is_refused()
    except OSError:
        return True
    return False


def _is_set(name: str, value: int | tuple[int, int]) -> bool:
    soft = value[0] if isinstance(value, tuple) else value
    found = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))
    return 0 <= found[0] <= soft and found[1] >= 0


def _must(is_open: bool) -> None:
    if not is_open:
        raise PermissionError


def _change_mode() -> None:
    """Change the mode of a file of our own. If that has no effect, it has none on any other file."""
    path = f"{os.environ['TMPDIR']}/.{os.urandom(8).hex()}"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        os.chmod(path, 0o640)
        _must(os.stat(path).st_mode & 0o777 != 0o600)
    finally:
        os.unlink(path)


def _create(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    os.unlink(path)


def _reach_out() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.connect(_NOWHERE)  # sends nothing, but needs a route
