"""Builds enclosures: namespaces, a root of its own and a trusted pid 1 for each session.

The zygote forks it before any large import, so that its own forks are small and quick.
"""

from __future__ import annotations

import errno
import json
import math
import os
import resource
import select
import socket
import stat

from _vivarium.confine import cgroup, identity, kernel, limits
from _vivarium.confine.identity import INSIDE_ID
from _vivarium.confine.removal import Removals
from _vivarium.confine.root import build as root
from _vivarium.confine.root import mounts
from _vivarium.confine.seccomp import filter as seccomp
from _vivarium.enclosure.home import make_directories, make_temporary
from _vivarium.enclosure.host_socket import ask, connect_worker
from _vivarium.enclosure.listeners import handover_path, hosts_file, open_handover, open_listeners
from _vivarium.enclosure.pid1 import Pid1
from _vivarium.protocol import GO
from _vivarium.record import Record

NAMESPACES = ("pid", "user", "mnt", "net", "ipc", "uts", "cgroup")
READY = b"ready"
SHM_BYTES = 64 << 20  # until a worker knows how much memory its session may use
STAGING = "/.staging"
PACKAGES = "/.packages"
DEVICES = ("null", "zero", "full", "random", "urandom")
# A shared mapping of /dev/zero is memory that only a control group counts.
DEVICES_WITHOUT_CGROUP = ("null", "full", "random", "urandom")


# With these a process can only give up more.
CLOSING = ("seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")


class BuildSettings(Record):
    """What every enclosure of this zygote has in common."""

    read_only: tuple[str, ...]
    binds: tuple[root.Bind, ...]
    symlinks: tuple[tuple[str, str], ...]  # in /tmp
    host: str  # where the tree of the machine is
    socket: str  # of the host
    sessions: str
    proc: str
    privileged: bool
    cgroups: cgroup.Cgroups


def serve(channel: socket.socket, settings: BuildSettings) -> None:
    """Do what the zygote asks for, one thing after the other, until it is gone. Never returns."""
    removals = Removals()
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    while True:
        for number in removals.attempt():
            _answer(channel, number, {}, [])
        pause_s = removals.next_s()
        if not poll.poll(None if pause_s is None else math.ceil(1000 * pause_s)):
            continue
        message, fds, _, _ = socket.recv_fds(channel, 1 << 20, 1)
        if not message:
            os._exit(0)
        order = json.loads(message)
        if "remove" in order:
            removals.add(order["number"], cgroup.Group(settings.cgroups.kind, order["remove"]))
            continue
        try:
            answer, fds = _attach(order, fds[0], settings) if "attach" in order else _build(order, settings)
        except Exception as error:
            answer, fds = {"error": _describe(error, order)}, []
        _answer(channel, order["number"], answer, fds)


def _answer(channel: socket.socket, number: int, answer: dict, fds: list[int]) -> None:
    """Tell the zygote that an order is done, whether it worked or not."""
    socket.send_fds(channel, [json.dumps({**answer, "number": number}).encode()], fds)
    for fd in fds:
        os.close(fd)


def _attach(order: dict, go: int, settings: BuildSettings) -> tuple[dict, list[int]]:
    """Move a worker into its group and let it go; one that cannot be moved gets no go, reports that, and ends."""
    try:
        cgroup.Group(settings.cgroups.kind, order["group"]).attach(order["attach"])
        os.write(go, GO)
    finally:
        os.close(go)
    return {}, []


def _build(request: dict, settings: BuildSettings) -> tuple[dict, list[int]]:
    """Build one enclosure. Returns its lifeline, the connections of its worker and its namespaces as descriptors."""
    name, has = request["enclosure"], {"mounts": request["hasMounts"], "targets": request["listed"]}
    request = {**request, **{kind: ask(settings.socket, kind, name) if has[kind] else [] for kind in has}}
    home, owner = f"{settings.sessions}/{request['workspace']}", request["uid"] if settings.privileged else None
    make_directories(home, owner)
    make_temporary(home, owner, settings.symlinks)
    group = _make_group(request, settings)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        handover = open_handover(handover_path(settings.socket, name)) if request["listed"] else None
        try:
            pid = _fork_pid1(request, settings, theirs, handover)
        finally:
            if handover is not None:
                handover.close()
        theirs.close()
        if pid:
            _attach_pid1(group, pid, ours)
        message, namespaces, _, _ = socket.recv_fds(ours, 65536, len(NAMESPACES))
        if message != READY:
            raise NotBuilt(message.decode("utf-8", "replace") or "pid 1 ended before it was ready")
        ticket, channels = connect_worker(settings.socket)
        answer = {
            "pid1": pid,
            "ticket": ticket,
            "workspace": request["workspace"],
            "uid": request["uid"],
            "group": group and group.directories,
        }
        return answer, [ours.detach(), *channels, *namespaces]


def _attach_pid1(group: cgroup.Group | None, pid: int, lifeline: socket.socket) -> None:
    """Move a pid 1 into its group and let it go on. The move takes a while, in which it builds its root."""
    try:
        if group is not None:
            group.attach(pid)
        lifeline.send(GO)
    except OSError as error:
        if error.errno not in (errno.ESRCH, errno.EPIPE, errno.ECONNRESET):  # else it has ended, and said why
            raise


def _make_group(request: dict, settings: BuildSettings) -> cgroup.Group | None:
    if settings.cgroups.kind == "none":
        return None
    name = f"vivarium-{request['build']}"
    try:
        return settings.cgroups.create(name, memory_bytes=None, processes=None, limits_cpus=request["limitsCpus"])
    except FileExistsError:  # of a builder that was killed meanwhile
        settings.cgroups.group(name).remove()
        return settings.cgroups.create(name, memory_bytes=None, processes=None, limits_cpus=request["limitsCpus"])


def _fork_pid1(request: dict, settings: BuildSettings, lifeline: socket.socket, handover: socket.socket | None) -> int:
    """Fork pid 1 by way of a helper that enters the new namespaces.

    Returns the pid of pid 1, or 0 when the lifeline has the reason.
    """
    read_end, write_end = os.pipe()
    helper = os.fork()
    if helper == 0:
        try:
            ways = [lifeline.fileno(), *([] if handover is None else [handover.fileno()])]
            kernel.close_fds_except([write_end, *ways])  # else pid 1 would hold its own lifeline open
            _enter_namespaces(request, settings)
            child = os.fork()
            if child:
                os.write(write_end, str(child).encode())
                os._exit(0)
            os.close(write_end)
            _become_pid1(request, settings, lifeline, handover)
        except BaseException as error:
            _report(lifeline, _describe(error, request))
        os._exit(1)
    os.close(write_end)
    answer = os.read(read_end, 32)
    os.close(read_end)
    os.waitpid(helper, 0)
    return int(answer or 0)


class NotBuilt(Exception):
    """An enclosure that could not be built. The text names nothing of a session: the zygote passes it on."""


def _describe(error: BaseException, order: dict) -> str:
    """Say what went wrong. What an error says itself may be a path that the caller of a session has named."""
    if isinstance(error, NotBuilt):
        return str(error)
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    where = f" ({os.path.basename(last.tb_frame.f_code.co_filename)}:{last.tb_lineno})" if last is not None else ""
    what = errno.errorcode.get(getattr(error, "errno", None) or 0, "unknown") if order.get("hasMounts") else str(error)
    return f"{type(error).__name__}: {what}{where}"


def _report(lifeline: socket.socket, problem: str) -> None:
    try:
        lifeline.send(problem.encode())
    except OSError:
        os._exit(1)  # nobody is listening any more


def _enter_namespaces(request: dict, settings: BuildSettings) -> None:
    os.setsid()
    uid, gid = os.getuid(), os.getgid()
    if request["mounts"]:
        _stage_mounts(request, settings.host, request["uid"] if settings.privileged else None)
    if settings.privileged:
        uid = gid = request["uid"]
        identity.become(uid, gid)
        kernel.set_dumpable(True)  # else /proc/self/uid_map belongs to root
    network = 0 if request["network"] else kernel.NEWNET
    kernel.unshare(kernel.NEWUSER | kernel.NEWPID | kernel.NEWNS | kernel.NEWIPC | kernel.NEWUTS | network)
    identity.map_ids(INSIDE_ID, uid, gid)
    limits.limit_user()
    if network:
        limits.limit_network()


def _stage_mounts(request: dict, host: str, uid: int | None) -> None:
    """Bind requested mounts to places of our own, by descriptors: sessions may be changing the ways to them.

    The session's own uid could not walk through private homes either.
    """
    kernel.unshare(kernel.NEWNS)
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("tmpfs", STAGING, "tmpfs", 0, "mode=755,size=64k")
    for index, mount in enumerate(request["mounts"]):
        target = f"{STAGING}/{index}"
        source = _open_source(host, mount, index)
        facts = os.fstat(source)
        if stat.S_ISDIR(facts.st_mode):
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        # Nobody but root could write there: the user of this directory does so in the place of root.
        is_roots = mount["writable"] and facts.st_uid == 0 and not facts.st_mode & stat.S_IWOTH
        mounts.bind_descriptor(source, target, uid if is_roots else None)
        os.close(source)
        mount["source"] = target


def _open_source(host: str, mount: dict, index: int) -> int:
    """Open what was configured, or nothing: step by step, without links, and only if it is still the same."""
    opened = os.open(host or "/", os.O_PATH | os.O_CLOEXEC)
    for name in filter(None, mount["source"].split("/")):
        try:
            inner = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=opened)
        except OSError as error:
            raise NotBuilt(f"mount {index + 1} cannot be opened any more: {error.strerror}") from error
        finally:
            os.close(opened)
        opened = inner
    found = os.fstat(opened)
    if (str(found.st_dev), str(found.st_ino)) != (mount["device"], mount["inode"]):
        raise NotBuilt(f"mount {index + 1} is not what it was when the session was created")
    return opened


def _become_pid1(
    request: dict, settings: BuildSettings, lifeline: socket.socket, handover: socket.socket | None
) -> None:
    home = f"{settings.sessions}/{request['workspace']}"
    has_group = settings.cgroups.kind != "none"
    own = os.open("/proc/self/ns", os.O_RDONLY | os.O_CLOEXEC)  # while the /proc that we came with is still in view
    oom_score = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
    root.build(
        root.Root(
            read_only=settings.read_only,
            binds=(
                *settings.binds,
                root.Bind(f"{home}/workspace", "/workspace", writable=not request["readOnly"]),
                root.Bind(f"{home}/rollback", "/.rollback", writable=True),
                root.Bind(f"{home}/tmp", "/tmp", writable=True),
                root.Bind(f"{home}/packages", PACKAGES),
                *(root.Bind(mount["source"], mount["target"], mount["writable"]) for mount in request["mounts"]),
            ),
            symlinks=(("/mnt/data", "/workspace"),),
            proc=settings.proc,
            network=request["network"],
            certificates=request["listed"],
            hosts=hosts_file(request["targets"]),
            host=settings.host,
            # Pages of a memory file system are counted by a control group, and by nothing else.
            shm=SHM_BYTES if has_group else f"{home}/shm",
            devices=DEVICES if has_group else DEVICES_WITHOUT_CGROUP,
        )
    )
    if lifeline.recv(len(GO)) != GO:
        os._exit(0)  # its limits could not be attached
    kernel.unshare(kernel.NEWCGROUP)  # whose root is the group that it is in by now
    namespaces = _own_namespaces(request, own)
    os.close(own)
    kernel.set_hostname(b"vivarium")
    if not request["network"]:
        kernel.loopback_up()
    listeners = None if handover is None else open_listeners(request["targets"])
    pid_max, last_pid = _pid_max(), _last_pid()
    kernel.set_dumpable(False)
    identity.drop_capabilities()
    kernel.no_new_privileges()
    open_files = 64 if listeners is None else 64 + len(listeners.sockets)
    # The hard limits are for the commands that it forks.
    limits.set_limits({"CORE": 0, "NOFILE": (open_files, resource.RLIM_INFINITY), "FSIZE": (0, resource.RLIM_INFINITY)})
    seccomp.install(pid1_filter())
    socket.send_fds(lifeline, [READY], namespaces)
    for fd in namespaces:
        os.close(fd)
    ways_out = None if listeners is None or handover is None else (handover, listeners)
    Pid1(lifeline, pid_max, last_pid, ways_out, oom_score).serve()


def pid1_filter() -> bytes:
    """The filter of every pid 1; made once before the builder is forked.

    Commands inherit it and install that of their session on top, so it allows what any session may do, and that.
    """
    families = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
    return seccomp.assemble(shared_memory=True, families=families, own_pids=True, closing=CLOSING)


def _own_namespaces(request: dict, directory: int) -> list[int]:
    """The namespaces that a worker has to join."""
    names = [name for name in NAMESPACES if name != "net" or not request["network"]]
    return [os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=directory) for name in names]


def _pid_max() -> int:
    try:
        fd = os.open("/proc/sys/kernel/pid_max", os.O_RDONLY)
    except OSError:  # an enclosure without /proc
        return 1 << 22
    try:
        return int(os.read(fd, 32))
    finally:
        os.close(fd)


def _last_pid() -> int | None:
    """Return a descriptor from which the last pid of this namespace can be read."""
    try:
        return os.open("/proc/sys/kernel/ns_last_pid", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # no /proc, or a kernel without it
        return None
