"""Sets up the zygote's own root, and holds what all its sessions have in common."""

from __future__ import annotations

import os
import resource
import signal
import sys

from _vivarium.confine import cgroup, identity, kernel, probe, processors
from _vivarium.confine.identity import INSIDE_ID
from _vivarium.confine.landlock import ruleset as landlock
from _vivarium.confine.processors import Allotment, Processors
from _vivarium.confine.root import build as root
from _vivarium.enclosure.builder import PACKAGES, STAGING, BuildSettings
from _vivarium.record import Record
from _vivarium.worker.join import OWN_FDS, OWN_PROCESSES, Admission, WorkerSettings

FORKED_NAME = "vivarium"
HOST = "/.host"
SESSIONS = "/.sessions"
RUN = "/.run"
CACHE = "/.cache"
GROUPS = "/.groups"
INSIDE = "/.inside"
# The zygote imports most of our files after it has entered its own root.
OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Above what distributions, containers and directory services hand out.
FIRST_UID = 1_900_000_000
UIDS_EACH = 100_000
USUAL_STACK = 8 << 20


class Setup(Record):
    """What all enclosures of one zygote have in common."""

    level: str
    instance: str
    privileged: bool
    first_uid: int
    proc: str
    host: str
    sessions: str
    socket: str
    cache: str
    cgroups: cgroup.Cgroups
    read_only: tuple[str, ...]
    environment: dict[str, str]
    ahead: int
    twin_delay_s: float
    processors: Processors
    usual_limits: dict
    # As the host sees them, to clean up after a zygote that could not.
    host_groups: tuple[str, ...]
    library_threads: int = 0  # that all loaded libraries together may start in a session

    def uid_of(self, count: int) -> int:
        """Return the user id of the session with this number."""
        return self.first_uid + count if self.privileged else self.first_uid

    @property
    def guard_uid(self) -> int:
        """Return the user id of subreapers, which no session has: the first session has number 1."""
        return self.first_uid

    def build_settings(self) -> BuildSettings:
        """Return what the builder needs to know."""
        return BuildSettings(
            read_only=self.read_only,
            binds=(root.Bind(self.cache, CACHE), root.Bind(f"{OWN}/inside", INSIDE)),
            symlinks=_font_cache_links(self.cache),
            host=self.host,
            socket=self.socket,
            sessions=self.sessions,
            proc=self.proc,
            privileged=self.privileged,
            cgroups=self.cgroups,
        )

    def worker_settings(self, uid: int, namespaces: tuple[int, ...], has_group: bool, home: str) -> WorkerSettings:
        """Return what a worker knows before it has a session."""
        walled = self.level == "namespaces"
        workspace = "/workspace" if walled else f"{home}/workspace"
        return WorkerSettings(
            level=self.level,
            privileged=self.privileged,
            uid=uid,
            workspace=workspace,
            rollback="/.rollback" if walled else f"{home}/rollback",
            shared_memory=has_group,
            environment={**self.environment, **self._places(workspace, home)},
            read_only=self.read_only,
            twin_delay_s=self.twin_delay_s,
            namespaces=namespaces,
        )

    def allot(self, wanted: dict) -> Allotment:
        """Return the processors of a session with these limits."""
        return self.processors.allot(wanted["cpus"], wanted["memoryBytes"], wanted["processes"])

    def admission(self, command: dict, *, is_first: bool) -> Admission:
        """Return what a session asks for."""
        wanted = command["limits"]
        if command["listed"] and self.level != "namespaces":
            raise ValueError("a list of hosts needs a network of its own")
        allotment = self.allot(wanted)
        return Admission(
            network=command["network"],
            listed=command["listed"],
            memory_bytes=wanted["memoryBytes"],
            data_bytes=_status_bytes("VmData") + wanted["memoryBytes"] + self.library_threads * _stack_bytes(),
            processes=wanted["processes"] + 2 * OWN_PROCESSES + self.library_threads,
            open_files=wanted["openFiles"] + OWN_FDS,
            file_bytes=wanted["fileBytes"],
            rollback_bytes=wanted["rollbackBytes"],
            has_mounts=command["hasMounts"],
            keeps_workspace=command["readOnly"],
            twins=command["twins"],
            is_first=is_first,
            cpus=allotment.numbers,
            has_quota=wanted["cpus"] is not None and self.cgroups.has_processors,
            processors=allotment.count,
            threads=allotment.threads,
            usual_threads=self.allot(self.usual_limits).threads,
            library_threads=self.library_threads,
        )

    def _places(self, workspace: str, home: str) -> dict[str, str]:
        walled = self.level == "namespaces"
        temporary = "/tmp" if walled else f"{workspace}/.tmp"
        packages, inside = (PACKAGES, INSIDE) if walled else (f"{home}/packages", f"{OWN}/inside")
        return {
            "HOME": temporary,
            "TMPDIR": temporary,
            "MPLCONFIGDIR": f"{temporary}/.matplotlib",
            "PATH": f"{inside}/bin:{self.environment['PATH']}:{packages}/bin",
            "PYTHONPATH": inside,  # of the programs that a session starts; see inside/sitecustomize.py
            "VIVARIUM_PACKAGES": packages,
        }


def session_environment() -> dict[str, str]:
    """Return the environment of every session. It has nothing of the machine's own."""
    return {
        "PATH": f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "MPLBACKEND": "agg",
        "PYTHONDONTWRITEBYTECODE": "1",
        # Its OpenMP ends a process that has been forked, and so would every twin. This one can be used by one thread.
        "NUMBA_THREADING_LAYER_PRIORITY": "tbb workqueue omp",
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
        "ARROW_DEFAULT_MEMORY_POOL": "system",  # the others reserve a gigabyte, which the memory limit would count
    }


# OpenBLAS and numexpr start their threads when they are loaded, and a zygote must have a single one.
SINGLE_THREADED = {"OPENBLAS_NUM_THREADS": "1", "NUMEXPR_NUM_THREADS": "1"}


class Probes:
    """Finds out what this machine can do, while other work goes on."""

    def __init__(self) -> None:
        self._session_uids = probe.begin("sessionUids")
        self._proc = probe.begin("proc")

    def answer(self) -> tuple[bool, bool]:
        """Return whether sessions can have user ids of their own, and a /proc of their own."""
        return bool(self._session_uids()["ok"]), bool(self._proc()["ok"])


def enter(config: dict, channels: tuple[int, ...], probes: Probes) -> Setup:
    """Build a root for the zygote at this level and enter it. Raises OSError where the machine refuses."""
    cgroups = cgroup.find() if config["cgroups"] else cgroup.Cgroups("none", "switched off by configuration")
    has_uids, has_proc = probes.answer()
    privileged, first_uid = _session_uids(config["level"], has_uids)
    common = {
        "level": config["level"],
        "instance": config["instance"],
        "privileged": privileged,
        "first_uid": first_uid,
        "read_only": (*root.system_paths(), *_python_paths()),
        "environment": session_environment(),
        "ahead": config["ahead"],
        "twin_delay_s": config["twinDelayMs"] / 1000,
        "host_groups": cgroups.directories,
        "processors": processors.Processors(*processors.find()),
        "usual_limits": config["limits"],
    }
    if config["level"] != "namespaces":
        if config["level"] == "landlock":
            _require_landlock(privileged)
        if privileged:
            _require_reachable(first_uid, (config["sessions"], *_python_paths()))
        kernel.become_subreaper()
        return Setup(
            **common,
            proc="outer",
            host="",
            sessions=config["sessions"],
            socket=config["socket"],
            cache=config["cache"],
            cgroups=cgroups,
        )
    cgroups = cgroups.without_processes()  # a user namespace of its own has a process limit of its own
    proc = "masked" if has_proc else "none"
    _unshare(privileged, channels)
    _build_root(config, common["read_only"], cgroups, proc)
    rebased = cgroups.rebased({path: f"{GROUPS}/{index}" for index, path in enumerate(cgroups.directories)})
    return Setup(
        **common,
        proc=proc,
        host=HOST,
        sessions=SESSIONS,
        socket=f"{RUN}/{os.path.basename(config['socket'])}",
        cache=CACHE,
        cgroups=rebased,
    )


def _unshare(privileged: bool, channels: tuple[int, ...]) -> None:
    """Enter new namespaces. When the zygote, their pid 1, ends, the kernel ends everything it forked."""
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(kernel.NEWNS | kernel.NEWIPC | kernel.NEWUTS | kernel.NEWPID | (0 if privileged else kernel.NEWUSER))
    if not privileged:
        identity.map_ids(INSIDE_ID, uid, gid)
    child = os.fork()
    if child:
        _wait_outside(child, channels)
    kernel.die_with_parent()


def _wait_outside(child: int, channels: tuple[int, ...]) -> None:
    """In the process that the host spawned: wait for the zygote and end as it ends."""
    for fd in channels:
        os.close(fd)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)


def _build_root(config: dict, read_only: tuple[str, ...], cgroups: cgroup.Cgroups, proc: str) -> None:
    root.build(
        root.Root(
            read_only=read_only,
            binds=(
                # Mounts that sessions ask for come from here; no enclosure ever sees it.
                root.Bind("/", HOST, writable=True),
                root.Bind(OWN, OWN),
                root.Bind(config["sessions"], SESSIONS, writable=True),
                root.Bind(os.path.dirname(config["socket"]), RUN, writable=True),
                root.Bind(config["cache"], CACHE, writable=True),
                *(root.Bind(path, f"{GROUPS}/{i}", writable=True) for i, path in enumerate(cgroups.directories)),
            ),
            tmpfs=(("/tmp", 16 << 20, 1024), (STAGING, 64 << 10, 64)),
            proc="plain" if proc == "masked" else "outer",
            network=True,
        )
    )


def _session_uids(level: str, has_uids: bool) -> tuple[bool, int]:
    """Return whether sessions get user ids of their own, which takes root, and the first of them."""
    if level == "none" or not has_uids:
        return False, os.getuid()
    # Zygotes that run side by side use ranges of their own.
    return True, FIRST_UID + os.getpid() % 1000 * UIDS_EACH


def _require_landlock(has_own_uids: bool) -> None:
    """Raise where Landlock cannot be the first line."""
    problem = landlock.shortfall(landlock.abi(), has_own_uids=has_own_uids)
    if problem is not None:
        raise OSError(problem)


def _require_reachable(uid: int, paths: tuple[str, ...]) -> None:
    """Raise where a session cannot reach its files and its Python: it has no mounts of its own here."""
    answer = probe.reach(uid, paths)
    if not answer["ok"]:
        raise PermissionError(
            f"at the level 'landlock', as root, sessions run under user ids of their own, and those cannot enter "
            f"{answer['detail']}. Choose a data directory and a Python that every user can reach "
            "(VIVARIUM_HOME=/var/lib/vivarium, for example)"
        )


def _python_paths() -> tuple[str, ...]:
    """Return where this Python and its libraries are, unless system paths cover that."""
    system = root.system_paths()
    paths: list[str] = []
    for given in (sys.base_prefix, sys.prefix, os.path.dirname(os.path.realpath(sys.executable))):
        for path in (given, os.path.realpath(given)):  # a link is of no use without what it leads to
            covered = (*system, *paths)
            if not any(path == known or path.startswith(f"{known}/") for known in covered):
                paths.append(path)
    return tuple(paths)


def _font_cache_links(cache: str) -> tuple[tuple[str, str], ...]:
    """Return links to matplotlib's font list. Without one in a writable directory it scans all fonts."""
    try:
        names = os.listdir(f"{cache}/matplotlib")
    except FileNotFoundError:
        return ()
    return tuple((f"/tmp/.matplotlib/{name}", f"{CACHE}/matplotlib/{name}") for name in names if name.endswith(".json"))


def _stack_bytes() -> int:
    """Return the size of the stack of a thread, which is reserved and hardly used."""
    soft = resource.getrlimit(resource.RLIMIT_STACK)[0]
    return USUAL_STACK if soft == resource.RLIM_INFINITY else soft


def _status_bytes(key: str) -> int:
    """Return a size from /proc/self/status."""
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(f"{key}:"):
                return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {key}")
