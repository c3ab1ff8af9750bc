"""Puts into a root what programs expect: /etc, /dev and /proc."""

from __future__ import annotations

import os
import stat

from _vivarium.confine import kernel
from _vivarium.confine.root import mounts

_NOEXEC = kernel.MS_NOEXEC
_QUIET = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC

# Debian's BLAS is behind alternatives. Debian's Python reads /etc/python3*, which `etc_paths` adds.
_ETC = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "fonts", "localtime", "timezone"),
    *("mime.types", "matplotlibrc", "os-release", "debian_version", "services", "protocols"),
)
_ETC_NETWORK = ("resolv.conf", "hosts", "nsswitch.conf", "gai.conf")
_ETC_CERTIFICATES = (
    *("ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf"),
    *("ca-certificates", "ca-certificates.conf", "pki/tls/certs", "pki/tls/cert.pem", "pki/ca-trust/extracted"),
)
# What name resolution follows, and the machine rewrites when it comes to another network.
CHANGING = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf")
_SHM_INODES = 65536
_LINKS = {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}
_MASKED_PROC = (
    *("acpi", "asound", "bootconfig", "buddyinfo", "bus", "cmdline", "config.gz", "diskstats", "driver"),
    *("dynamic_debug", "fs", "interrupts", "iomem", "ioports", "irq", "kallsyms", "kcore", "key-users", "keys"),
    *("kmsg", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats", "locks", "modules", "mtrr"),
    *("pagetypeinfo", "partitions", "pressure", "sched_debug", "schedstat", "scsi", "slabinfo", "softirqs"),
    *("swaps", "sysrq-trigger", "timer_list", "timer_stats", "tty", "vmallocinfo", "zoneinfo"),
)


def etc_paths(network: bool, certificates: bool) -> list[str]:
    """Return the paths in /etc of the host that a root shows."""
    names = (*_ETC, *(_ETC_NETWORK if network else ()), *(_ETC_CERTIFICATES if network or certificates else ()))
    pythons = [name for name in os.listdir("/etc") if name.startswith("python3")]
    return sorted(f"/etc/{name}" for name in (*names, *pythons) if os.path.lexists(f"/etc/{name}"))


def write_etc(etc: str, user: tuple[int, int], hosts: str) -> None:
    """Write accounts, and network files for loopback and `hosts` only unless those of the host are shown."""
    uid, gid = user
    root, nobody = (f"{name}:x:{id}:{id}::/:/usr/sbin/nologin\n" for name, id in (("root", 0), ("nobody", 65534)))
    texts = {
        "passwd": f"{root}user:x:{uid}:{gid}::/tmp:/bin/sh\n{nobody}",
        "group": f"root:x:0:\nuser:x:{gid}:\nnogroup:x:65534:\n",
        "hosts": f"127.0.0.1 localhost\n::1 localhost\n{hosts}",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
        "resolv.conf": "",
    }
    for name, text in texts.items():
        if not os.path.lexists(f"{etc}/{name}"):
            make_file(f"{etc}/{name}", text.encode())


def make_dev(dev: str, host: str, devices: tuple[str, ...], shm: int | str) -> None:
    """Make a read-only /dev with harmless devices and /dev/shm, and nothing else. `host` is the tree of the host."""
    os.mkdir(dev)
    mounts.tmpfs(dev, 64 << 10, 64, mode="755", flags=_NOEXEC)
    for name in devices:
        make_file(f"{dev}/{name}")
        mounts.bind_device(f"{host}/dev/{name}", f"{dev}/{name}")
    for name, end in _LINKS.items():
        os.symlink(f"/proc/self/fd{end}", f"{dev}/{name}")
    os.mkdir(f"{dev}/shm")
    if isinstance(shm, int):
        mounts.tmpfs(f"{dev}/shm", shm, _SHM_INODES, flags=_NOEXEC)
    else:
        mounts.bind(host + shm, f"{dev}/shm", writable=True, mountinfo=f"{host}/proc/self/mountinfo")
    mounts.make_read_only(dev, _NOEXEC)


def resize_shm(size: int) -> None:
    """Set the size of the /dev/shm that we are in, if it is a memory file system of ours."""
    kernel.mount(None, "/dev/shm", None, kernel.MS_REMOUNT | _QUIET, f"size={size}")


def make_proc(proc: str, kind: str, host_proc: str, null: str) -> None:
    """Mount /proc as `Root.proc` says."""
    os.mkdir(proc)
    if kind == "outer":
        kernel.mount(host_proc, proc, None, kernel.MS_BIND | kernel.MS_REC)
    elif kind == "plain":
        kernel.mount("proc", proc, "proc", _QUIET)
    elif kind == "masked":
        kernel.mount("proc", proc, "proc", _QUIET, "hidepid=2")
        _mask(proc, null)
    elif kind != "none":
        raise ValueError(f"unknown kind of /proc: {kind}")


def make_file(path: str, content: bytes = b"", parent: int | None = None) -> None:
    """Create a file, which may serve as a mount point. The path may be a name in the directory `parent`."""
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644, dir_fd=parent)
    try:
        with open(fd, "wb", closefd=False) as file:
            file.write(content)
    finally:
        os.close(fd)


def _mask(proc: str, null: str) -> None:
    """Cover what reveals details of the machine, and make the rest read-only: settings of kernel and processes."""
    for name in _MASKED_PROC:
        path = f"{proc}/{name}"
        if not os.path.lexists(path) or os.path.islink(path):
            continue
        if stat.S_ISDIR(os.lstat(path).st_mode):
            mounts.tmpfs(path, 4096, 2, mode="555", flags=kernel.MS_RDONLY | _NOEXEC)
        else:
            mounts.bind_device(null, path)
    kernel.mount(f"{proc}/sys", f"{proc}/sys", None, kernel.MS_BIND | kernel.MS_REC)
    mounts.make_read_only(f"{proc}/sys", _NOEXEC)
    mounts.make_read_only(proc, _NOEXEC)
