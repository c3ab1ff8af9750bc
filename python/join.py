"""Turns a fresh fork of the zygote into a confined worker: join the enclosure, give up everything, close the walls."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from dataclasses import dataclass, field

from confine import identity, kernel, landlock, limits, seccomp, selftest

GO = b"g"
INSIDE_ID = 1000
PRIVATE_FDS = 3  # control channel and the worker's own copies of stdout and stderr
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
OOM_PREFERENCE = "500"


@dataclass(frozen=True)
class Admission:
    """All that a new worker needs to know; nothing else of the zygote survives in it."""

    session: str
    token: str
    socket: str
    level: str
    privileged: bool
    uid: int
    workspace: str
    rollback: str
    network: bool
    shared_memory: bool
    memory_bytes: int
    data_bytes: int
    processes: int
    open_files: int
    file_bytes: int
    environment: dict[str, str]
    read_only: tuple[str, ...]
    mounts: tuple[tuple[str, bool], ...] = ()
    keeps_workspace: bool = False  # its files can be read and not changed
    rollback_bytes: int = 0
    twins: bool = True
    twin_delay_s: float = 0.02
    is_first: bool = False  # tries the walls before anything runs behind them
    namespaces: tuple[int, ...] = field(default=())


def connect(admission: Admission) -> tuple[int, int, int]:
    """Three connections to the host: control, stdout, stderr. Each is an open file description of its own."""
    fds = []
    for kind in ("control", "stdout", "stderr"):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(admission.socket)
        hello = {"session": admission.session, "kind": kind, "token": admission.token}
        connection.sendall(json.dumps(hello).encode() + b"\n")
        fds.append(connection.detach())
    return fds[0], fds[1], fds[2]


def join(admission: Admission, go: int, status: int) -> int:
    """Become the worker of an enclosure; returns the control channel. Any failure must end the process."""
    control = _take_channels(admission, keep=[*admission.namespaces, go, status])
    os.setsid()
    _enter(admission)
    os.chdir(admission.workspace)
    os.umask(0o022)
    if os.read(go, 1) != GO:  # the zygote has attached the limits that only it can attach
        raise RuntimeError("the session's limits could not be attached")
    os.close(go)
    control = _move_high(control, admission.open_files)
    kernel.close_fds_except([control, status])
    _close_walls(admission)
    return control


def _take_channels(admission: Admission, keep: list[int]) -> int:
    control, stdout, stderr = connect(admission)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    kernel.close_fds_except([control, *keep])
    return control


def _move_high(fd: int, open_files: int) -> int:
    """Out of the way of programs that close every low descriptor when they become daemons."""
    high = open_files - PRIVATE_FDS
    if fd != high:  # many sessions: the zygote's own numbers have come that far
        os.dup2(fd, high, inheritable=False)
    return high


def _enter(admission: Admission) -> None:
    if admission.privileged:
        os.setgroups([])
    if admission.namespaces:
        for fd in admission.namespaces[1:]:  # the pid namespace was entered by the fork itself
            kernel.setns(fd)
        for fd in admission.namespaces:
            os.close(fd)
    if admission.privileged:
        inside = INSIDE_ID if admission.namespaces else admission.uid
        os.setresgid(inside, inside, inside)
        os.setresuid(inside, inside, inside)
    kernel.set_dumpable(True)


def _close_walls(admission: Admission) -> None:
    """The last steps, in an order in which each is still possible; nothing of the session runs before they are done."""
    os.environ.clear()
    os.environ.update(admission.environment)
    _prefer_for_oom()
    _reseed()
    _reset_signals()
    if admission.level != "namespaces":
        kernel.die_with_parent()
        os.makedirs(os.environ["TMPDIR"], exist_ok=True)
    if admission.level == "none":
        limits.set_limits(_limits(admission))
        return
    identity.drop_capabilities()
    kernel.no_new_privileges()
    limits.set_limits(_limits(admission))
    version = _landlock(admission)
    seccomp.install(system_call_filter(admission.level, admission.network, admission.shared_memory))
    if admission.is_first:
        selftest.verify(admission.level, admission.network, _limits(admission), version)


def system_call_filter(level: str, network: bool, shared_memory: bool) -> bytes:
    """The filter of such a session; asked for once in the zygote, every worker finds it made."""
    families = () if level == "landlock" and not network else (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
    return seccomp.assemble(shared_memory=shared_memory, families=families)


def _limits(admission: Admission) -> dict[str, int | tuple[int, int]]:
    return {
        "CORE": 0,
        "NOFILE": admission.open_files,
        "NPROC": admission.processes,
        "FSIZE": admission.file_bytes,
        "DATA": admission.data_bytes,
        "MEMLOCK": 64 << 10,
        "STACK": (8 << 20, 64 << 20),
        "MSGQUEUE": 0,
        "SIGPENDING": 1024,
    }


def _landlock(admission: Admission) -> int:
    """Second line behind the namespaces; first line where there are none. Its version."""
    own = admission.level == "namespaces"
    places = [(admission.workspace, not admission.keeps_workspace), *admission.mounts]
    writable = [path for path, is_writable in places if is_writable]
    readable = [*admission.read_only, *(path for path, is_writable in places if not is_writable)]
    if own:
        readable += ["/etc", "/proc", "/dev", "/.cache"]
        writable += ["/tmp", "/dev/shm", admission.rollback]
    else:
        writable += [admission.rollback, admission.environment["TMPDIR"]]
        readable += ["/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/localtime", f"/proc/{os.getpid()}"]
        if admission.network:
            readable += ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl"]
    abi = landlock.restrict(
        read_only=readable,
        read_write=writable,
        files=(*DEVICES, "/proc") if own else DEVICES,
        tcp=own or admission.network,
        list_root=own,
    )
    if abi == 0 and not own:
        raise RuntimeError("Landlock is not available in this kernel: level 'landlock' cannot be enforced")
    return abi


def _prefer_for_oom() -> None:
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(OOM_PREFERENCE)
    except OSError:
        return  # an enclosure without /proc: the kernel chooses by size, which is the worker too


def _reseed() -> None:
    """No two sessions may share randomness that the zygote prepared."""
    if "random" in sys.modules:
        sys.modules["random"].seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(int.from_bytes(os.urandom(4), "little"))
    if "ssl" in sys.modules:  # OpenSSL notices a fork by the pid, which repeats across pid namespaces
        sys.modules["ssl"].RAND_add(os.urandom(32), 0.0)


def _reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_DFL)
