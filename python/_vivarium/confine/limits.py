"""Sets limits of the calling process, and of the user and network namespaces that it has made."""

from __future__ import annotations

import errno
import os
import resource
import sys
from collections.abc import Mapping

# Datagrams that may wait in one unix socket.
DATAGRAMS = 4
# A session has the namespaces that it was built with, except that building a root takes several of mounts for a moment.
# The others are counted for all sessions of a user together.
_USER = {
    "max_user_namespaces": "0",
    "max_pid_namespaces": "1",
    "max_net_namespaces": "1",
    "max_ipc_namespaces": "1",
    "max_uts_namespaces": "1",
    "max_cgroup_namespaces": "1",
    "max_time_namespaces": "0",
    "max_inotify_instances": "16",
    "max_inotify_watches": "32768",
    "max_fanotify_groups": "0",
    "max_fanotify_marks": "0",
}
# Buffers of TCP come out of one stock for the whole machine.
_NETWORK = {
    "ipv4/tcp_rmem": "4096 131072 1048576",
    "ipv4/tcp_wmem": "4096 16384 1048576",
    "unix/max_dgram_qlen": str(DATAGRAMS),
}


def set_limits(limits: Mapping[str, int | tuple[int, int]]) -> None:
    """Set limits by name (`NOFILE`, `DATA`, ...), never above the inherited hard limit."""
    for name, wanted in limits.items():
        which = getattr(resource, f"RLIMIT_{name}")
        soft, hard = wanted if isinstance(wanted, tuple) else (wanted, wanted)
        hard = _lower(hard, resource.getrlimit(which)[1])
        resource.setrlimit(which, (_lower(soft, hard), hard))


def raise_open_files() -> int:
    """Raise the soft limit of open files to the hard limit, and return it."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def most_open_files() -> int:
    """Return how many files a process here may have open at most."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return sys.maxsize if hard == resource.RLIM_INFINITY else hard


def limit_user() -> None:
    """Limit the user namespace that we are in and have every power over."""
    _write("/proc/sys/user", _USER)


def limit_network() -> None:
    """Limit the network namespace that we are in and have every power over."""
    _write("/proc/sys/net", _NETWORK)


def _lower(a: int, b: int) -> int:
    """Return the stricter of two limits; infinity is the weakest."""
    if resource.RLIM_INFINITY in (a, b):
        return b if a == resource.RLIM_INFINITY else a
    return min(a, b)


def _write(directory: str, values: dict[str, str]) -> None:
    for name, value in values.items():
        try:
            fd = os.open(f"{directory}/{name}", os.O_WRONLY | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EROFS):  # not in this kernel, or not in this container
                continue
            raise
        try:
            os.write(fd, value.encode())
        finally:
            os.close(fd)
