"""Builds enclosures: namespaces, a root of its own and a trusted pid 1 for each session.

The zygote forks it before any large import, so that its own forks are small and quick.
"""

from __future__ import annotations

import errno
import json
import math
import os
import select
import socket
import stat

from _vivarium.confine import cgroup, identity, kernel, limits
from _vivarium.confine.identity import INSIDE_ID
from _vivarium.confine.removal import Removals
from _vivarium.confine.root import build as root
from _vivarium.confine.root import mounts
from _vivarium.confine.seccomp import filter as seccomp
from _vivarium.enclosure.host_socket import ask_mounts, connect_worker
from _vivarium.enclosure.pid1 import Pid1
from _vivarium.protocol import GO
from _vivarium.record import Record

NAMESPACES = ("pid", "user", "mnt", "net", "ipc", "uts", "cgroup")
READY = b"ready"
SHM_BYTES = 64 << 20  # until a worker knows how much memory its session may use
STAGING = "/.staging"
DEVICES = ("null", "zero", "full", "random", "urandom")
# A shared mapping of /dev/zero is memory that only a control group counts.
DEVICES_WITHOUT_CGROUP = ("null", "full", "random", "urandom")


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
    request = {**request, "mounts": ask_mounts(settings.socket, request["enclosure"]) if request["hasMounts"] else []}
    home, owner = f"{settings.sessions}/{request['workspace']}", request["uid"] if settings.privileged else None
    make_directories(home, owner)
    _make_temporary(home, owner, settings.symlinks)
    group = _make_group(request, settings)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        pid = _fork_pid1(request, settings, theirs)
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


def make_directories(home: str, owner: int | None) -> None:
    """Make the directories of a session, owned by its user id. Raises where something else has taken their place."""
    opened = _make_directory(home, None, owner)
    try:
        for name in ("workspace", "rollback"):
            os.close(_make_directory(name, opened, owner))
    finally:
        os.close(opened)


def _make_directory(name: str, parent: int | None, owner: int | None) -> int:
    """Make a directory, unless an earlier enclosure or a builder that was killed has. Returns a descriptor of it."""
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except FileExistsError:
        pass
    if owner is not None:
        os.chown(name, owner, owner, dir_fd=parent, follow_symlinks=False)
    return os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)


def _make_temporary(home: str, owner: int | None, symlinks: tuple[tuple[str, str], ...]) -> None:
    """Make the directories of /tmp and /dev/shm. Those of an earlier enclosure stay as they are."""
    made = []
    for path in (f"{home}/tmp", f"{home}/shm"):
        try:
            os.mkdir(path, 0o700)
            made.append(path)
        except FileExistsError:
            continue
    if f"{home}/tmp" in made:
        for path, points_to in symlinks:
            os.makedirs(os.path.dirname(home + path), exist_ok=True)
            os.symlink(points_to, home + path)
            made.append(os.path.dirname(home + path))
    for path in made:
        if owner is not None:
            os.chown(path, owner, owner, follow_symlinks=False)


def _make_group(request: dict, settings: BuildSettings) -> cgroup.Group | None:
    if settings.cgroups.kind == "none":
        return None
    name = f"vivarium-{request['build']}"
    try:
        return settings.cgroups.create(name, memory_bytes=None, processes=None)
    except FileExistsError:  # of a builder that was killed meanwhile
        settings.cgroups.group(name).remove()
        return settings.cgroups.create(name, memory_bytes=None, processes=None)


def _fork_pid1(request: dict, settings: BuildSettings, lifeline: socket.socket) -> int:
    """Fork pid 1 by way of a helper that enters the new namespaces.

    Returns the pid of pid 1, or 0 when the lifeline has the reason.
    """
    read_end, write_end = os.pipe()
    helper = os.fork()
    if helper == 0:
        try:
            kernel.close_fds_except([write_end, lifeline.fileno()])  # else pid 1 would hold its own lifeline open
            _enter_namespaces(request, settings)
            child = os.fork()
            if child:
                os.write(write_end, str(child).encode())
                os._exit(0)
            os.close(write_end)
            _become_pid1(request, settings, lifeline)
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
        _stage_mounts(request, settings.host)
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


def _stage_mounts(request: dict, host: str) -> None:
    """Bind requested mounts to places of our own, by descriptors: sessions may be changing the ways to them.

    The session's own uid could not walk through private homes either.
    """
    kernel.unshare(kernel.NEWNS)
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("tmpfs", STAGING, "tmpfs", 0, "mode=755,size=64k")
    for index, mount in enumerate(request["mounts"]):
        target = f"{STAGING}/{index}"
        source = _open_source(host, mount, index)
        if stat.S_ISDIR(os.fstat(source).st_mode):
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        mounts.bind_descriptor(source, target)
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


def _become_pid1(request: dict, settings: BuildSettings, lifeline: socket.socket) -> None:
    home = f"{settings.sessions}/{request['workspace']}"
    has_group = settings.cgroups.kind != "none"
    own = os.open("/proc/self/ns", os.O_RDONLY | os.O_CLOEXEC)  # while the /proc that we came with is still in view
    root.build(
        root.Root(
            read_only=settings.read_only,
            binds=(
                *settings.binds,
                root.Bind(f"{home}/workspace", "/workspace", writable=not request["readOnly"]),
                root.Bind(f"{home}/rollback", "/.rollback", writable=True),
                root.Bind(f"{home}/tmp", "/tmp", writable=True),
                *(root.Bind(mount["source"], mount["target"], mount["writable"]) for mount in request["mounts"]),
            ),
            symlinks=(("/mnt/data", "/workspace"),),
            proc=settings.proc,
            network=request["network"],
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
    pid_max, last_pid = _pid_max(), _last_pid()
    kernel.set_dumpable(False)
    identity.drop_capabilities()
    kernel.no_new_privileges()
    limits.set_limits({"CORE": 0, "NOFILE": 64, "FSIZE": 0})
    seccomp.install(pid1_filter())
    socket.send_fds(lifeline, [READY], namespaces)
    for fd in namespaces:
        os.close(fd)
    Pid1(lifeline, pid_max, last_pid).serve()


def pid1_filter() -> bytes:
    """The filter of every pid 1; made once before the builder is forked."""
    return seccomp.assemble(shared_memory=False, families=())


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
