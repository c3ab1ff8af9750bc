"""Turns a fresh fork of the zygote into a confined worker: join the enclosure, give up everything, close the walls."""

from __future__ import annotations

# without the enums of `signal`, which would be copied into every worker
import _signal  # type: ignore[import-not-found]
import json
import os
import socket
import stat
import sys

from _vivarium import protocol
from _vivarium.confine import identity, kernel, limits, selftest
from _vivarium.confine.identity import INSIDE_ID
from _vivarium.confine.landlock import entries
from _vivarium.confine.landlock import ruleset as landlock
from _vivarium.confine.root import contents
from _vivarium.confine.seccomp import filter as seccomp
from _vivarium.protocol import GO
from _vivarium.record import Record
from _vivarium.worker.removal import open_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn  # slow to load

EXIT_NOT_JOINED = 113
PRIVATE_FDS = 3
OWN_FDS = PRIVATE_FDS + 1  # with the queue that tells which files were touched
# The control channel and the worker's own copies of stdout and stderr. Programs that become daemons close every low
# descriptor, and these must stay open. A machine may allow fewer descriptors than that.
CONTROL = min(1024, limits.most_open_files() - OWN_FDS)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
OOM_PREFERENCE = b"500"
MAX_ADMISSION = 1 << 20
# pid 1, the worker itself, its twin and the twin of the run before. As many again are kept for twins alone.
OWN_PROCESSES = 4
# Below the zygote, its helpers and the engine, which must get their turn when sessions use all cores. It does not count
# where the kernel groups processes by terminal session; there the surveyor lowers the weight of the groups.
NICENESS = 5


class Mount(Record):
    """What a session sees of the machine, and how it is known to be the right one."""

    target: str
    writable: bool
    identity: tuple[int, int]  # device and inode


class WorkerSettings(Record):
    """What a worker knows before it has a session."""

    level: str
    privileged: bool
    uid: int
    workspace: str
    rollback: str
    shared_memory: bool
    environment: dict[str, str]
    read_only: tuple[str, ...]
    twin_delay_s: float
    namespaces: tuple[int, ...] = ()


class Admission(Record):
    """What a session asks for. With its settings this is all that a worker keeps of what the zygote knew."""

    network: bool  # that of the machine
    listed: bool  # only a way to the gate
    memory_bytes: int
    data_bytes: int
    processes: int  # with those that only twins may use
    open_files: int
    file_bytes: int
    rollback_bytes: int
    has_mounts: bool  # which the host tells the worker itself
    keeps_workspace: bool  # its files can be read and not changed
    twins: bool
    is_first: bool  # tries the walls before anything runs behind them
    cpus: tuple[int, ...] = ()  # that it is held to; none if it may use all
    has_quota: bool = False  # a control group limits its time: otherwise it must not choose other processors
    processors: int = 1  # that it sees
    threads: int = 1  # of one numeric library
    usual_threads: int = 1  # that loaded libraries are prepared for
    library_threads: int = 0  # that all of these can start together. They do not count as processes of the program
    mounts: tuple[Mount, ...] = ()

    def limits(self) -> dict[str, int]:
        """Return the limits as they were asked for."""
        return {
            "memoryMb": self.memory_bytes >> 20,
            "processes": self.processes - 2 * OWN_PROCESSES - self.library_threads,
            "openFiles": self.open_files - OWN_FDS,
            "fileMb": self.file_bytes >> 20,
        }


def prepare(settings: WorkerSettings, go: int, channel: int) -> tuple[int, int]:
    """In a fresh fork: enter the enclosure and do all that needs no session. Returns the new numbers of both ends."""
    os.setsid()
    os.nice(NICENESS)
    kernel.close_fds_except([channel, go, *settings.namespaces])
    channel, go, *namespaces = (move_low(fd) for fd in (channel, go, *settings.namespaces))
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2, CONTROL, CONTROL + 1, CONTROL + 2):
        os.dup2(null, fd, inheritable=fd <= 2)
    os.close(null)
    prefer_for_oom()
    _enter(settings.replaced(namespaces=tuple(namespaces)))
    open_up(settings.workspace)  # an earlier interpreter of the session may have locked it
    os.chdir(settings.workspace)
    os.umask(0o022)
    os.environ.clear()
    os.environ.update(settings.environment)
    sys.path.append(f"{settings.environment['VIVARIUM_PACKAGES']}/site")  # last: nothing there replaces anything
    if settings.level != "namespaces":
        kernel.die_with_parent()
        _make_temporary(os.environ["TMPDIR"])
    _reseed()
    _reset_signals()
    return channel, go


def _make_temporary(path: str) -> None:
    """Make the temporary directory, also where an earlier interpreter of the session has left something else."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            os.unlink(path)
            os.mkdir(path, 0o700)
        open_up(path)


def move_low(fd: int) -> int:
    """Make room for the private descriptors: with many sessions, the zygote's own numbers have come that far."""
    if fd < CONTROL:
        return fd
    low = os.dup(fd)
    os.close(fd)
    return low


def join(channel: int, go: int, settings: WorkerSettings) -> Admission:
    """Wait to be admitted, take the channels and close the walls.

    Any failure must end the process, and `channel` carries the reason.
    """
    if os.read(go, 1) != GO:  # the zygote has attached the limits that only it can attach, which takes milliseconds
        raise RuntimeError("the session's limits could not be attached")
    os.close(go)
    zygote = socket.socket(fileno=channel)
    message, fds, _, _ = socket.recv_fds(zygote, MAX_ADMISSION, PRIVATE_FDS)
    zygote.detach()  # as an object it would be closed by the failure that it is needed for
    if len(fds) != PRIVATE_FDS:  # the zygote is gone, or has given up this enclosure
        os._exit(0)
    admission = Admission(**json.loads(message))
    control, stdout, stderr = fds
    for fd, target in ((control, CONTROL), (stdout, CONTROL + 1), (stderr, CONTROL + 2), (stdout, 1), (stderr, 2)):
        os.dup2(fd, target, inheritable=target <= 2)
    for fd in fds:
        os.close(fd)
    if admission.has_mounts:
        admission = admission.replaced(mounts=mounts_of(protocol.receive(CONTROL)))
    if settings.level == "namespaces" and settings.shared_memory:
        contents.resize_shm(admission.memory_bytes)
    close_walls(settings, admission)
    os.close(channel)
    return admission


def mounts_of(message: dict) -> tuple[Mount, ...]:
    """Return the mounts in a message of the host. The zygote, which later sessions inherit, must not know them."""
    return tuple(
        Mount(mount["target"], mount["writable"], (int(mount["device"]), int(mount["inode"])))
        for mount in message["mounts"]
    )


def report_failure(channel: int, error: BaseException) -> NoReturn:
    """In a process that failed to become a worker: send the reason to the zygote, and end."""
    problem = getattr(error, "strerror", None) or error  # without the path of a file, which may be a session's
    try:
        os.write(channel, f"{type(error).__name__}: {problem}".encode()[:4096])
    finally:
        os._exit(EXIT_NOT_JOINED)


def _enter(settings: WorkerSettings) -> None:
    if settings.privileged:
        os.setgroups([])
    if settings.namespaces:
        for fd in settings.namespaces[1:]:  # the pid namespace was entered by the fork itself
            kernel.setns(fd)
        for fd in settings.namespaces:
            os.close(fd)
    if settings.privileged:
        inside = INSIDE_ID if settings.namespaces else settings.uid
        os.setresgid(inside, inside, inside)
        os.setresuid(inside, inside, inside)
    kernel.set_dumpable(True)


def close_walls(settings: WorkerSettings, admission: Admission, *, is_powerless: bool = False) -> None:
    """The last steps, in an order in which each is still possible; nothing of the session runs before they are done.

    `is_powerless` if the process comes from one that has given up its capabilities for good.
    """
    if admission.cpus:
        os.sched_setaffinity(0, admission.cpus)
    if settings.level == "none":
        limits.set_limits(_limits(admission))
        return
    if not is_powerless:
        identity.drop_capabilities()
        kernel.no_new_privileges()
    limits.set_limits(_limits(admission))
    version = _landlock(settings, admission)
    seccomp.install(filter_of(settings, admission, version))
    if admission.is_first:
        selftest.verify(
            settings.level,
            admission.network,
            _limits(admission),
            version,
            own_files=_has_own_files(settings, admission),
            is_pinned=_is_pinned(admission),
        )


def filter_of(settings: WorkerSettings, admission: Admission, version: int) -> bytes:
    """The filter of a session, made at the first call. `version` is that of Landlock."""
    return system_call_filter(
        settings.level,
        admission.network or admission.listed,
        settings.shared_memory,
        own_files=_has_own_files(settings, admission),
        version=version,
        is_pinned=_is_pinned(admission),
    )


def _has_own_files(settings: WorkerSettings, admission: Admission) -> bool:
    return settings.level == "namespaces" or (settings.privileged and not admission.keeps_workspace)


def _is_pinned(admission: Admission) -> bool:
    return bool(admission.cpus) and not admission.has_quota


def system_call_filter(
    level: str, network: bool, shared_memory: bool, *, own_files: bool, version: int, is_pinned: bool = False
) -> bytes:
    """The filter of such a session; asked for once in the zygote, every worker finds it made.

    `version` is that of Landlock. A session that is pinned cannot choose other processors.
    """
    pinning = ("sched_setaffinity",) if is_pinned else ()
    if level == "landlock":
        return seccomp.assemble(
            shared_memory=shared_memory,
            # No unix sockets: Landlock does not know them by path, and each one leads to another program of the host.
            families=(socket.AF_INET, socket.AF_INET6) if network else (),
            own_files=own_files,
            refused=(*_unknown_to_landlock(version), *pinning),
        )
    families: tuple[int, ...] = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
    if not network and not shared_memory:  # buffers of TCP come out of one stock for the whole machine
        families = (socket.AF_UNIX,)
    return seccomp.assemble(shared_memory=shared_memory, families=families, own_pids=True, refused=pinning)


def _unknown_to_landlock(version: int) -> tuple[str, ...]:
    """Return calls by which a session reaches files that are closed to it, where Landlock is the first line."""
    watching = ("inotify_add_watch",)  # tells the names of all files that are used in a directory
    return watching if version >= landlock.CAN_REFUSE_TRUNCATION else (*watching, "truncate")


def _limits(admission: Admission) -> dict[str, int | tuple[int, int]]:
    return {
        "CORE": 0,
        "NOFILE": admission.open_files,
        "NPROC": (admission.processes - OWN_PROCESSES, admission.processes),
        "FSIZE": admission.file_bytes,
        "DATA": admission.data_bytes,
        "MEMLOCK": 64 << 10,
        "STACK": (8 << 20, 64 << 20),
        "MSGQUEUE": 0,
        "SIGPENDING": 1024,
    }


def _landlock(settings: WorkerSettings, admission: Admission) -> int:
    """Second line behind the namespaces; first line where there are none. Its version."""
    own = settings.level == "namespaces"
    packages, inside = settings.environment["VIVARIUM_PACKAGES"], settings.environment["PYTHONPATH"]
    readable, writable = [*settings.read_only, packages, inside], []
    (readable if admission.keeps_workspace else writable).append(settings.workspace)
    if own:
        readable += ["/etc", "/proc", "/dev", "/.cache"]
        writable += ["/tmp", "/dev/shm", settings.rollback]
    else:
        writable += [settings.rollback, settings.environment["TMPDIR"]]
        readable += ["/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/localtime"]
        readable += entries.files(os.getpid())
        if admission.network:
            readable += ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl"]
    abi = landlock.restrict(
        read_only=readable,
        read_write=writable,
        files=(*DEVICES, f"{packages}/wishes"),
        listed=() if own else entries.folders(os.getpid()),
        mounts=[(mount.target, mount.writable, mount.identity) for mount in admission.mounts],
        tcp=own or admission.network,
        list_root=own,
    )
    problem = None if own else landlock.shortfall(abi, has_own_uids=settings.privileged)
    if problem is not None:
        raise RuntimeError(problem)
    return abi


def prefer_for_oom() -> None:
    """Have the kernel end sessions first when memory runs out. In an enclosure, /proc cannot be written to."""
    try:
        fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(fd, OOM_PREFERENCE)
        os.close(fd)
    except OSError:
        return  # no /proc: the kernel chooses by size, which is the worker too


def _reseed() -> None:
    """No two sessions may share randomness that the zygote prepared."""
    if "random" in sys.modules:
        sys.modules["random"].seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(int.from_bytes(os.urandom(4), "little"))
    if "ssl" in sys.modules:  # OpenSSL notices a fork by the pid, which repeats across pid namespaces
        sys.modules["ssl"].RAND_add(os.urandom(32), 0.0)


def _reset_signals() -> None:
    _signal.set_wakeup_fd(-1)
    for number in (_signal.SIGCHLD, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGUSR1, _signal.SIGUSR2):
        _signal.signal(number, _signal.SIG_DFL)
