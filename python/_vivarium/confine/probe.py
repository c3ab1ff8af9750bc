"""Finds out what this machine can do by trying it, each check in a child of its own."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable

from _vivarium.confine import cgroup, identity, kernel, textfile
from _vivarium.confine.landlock import ruleset as landlock
from _vivarium.confine.seccomp import filter as seccomp

_HIGH_UID = 1_900_000_001
_ALL_BUT_USER = kernel.NEWNS | kernel.NEWPID | kernel.NEWNET | kernel.NEWIPC | kernel.NEWUTS | kernel.NEWCGROUP

Answer = dict[str, object]


def probe() -> dict[str, Answer]:
    """Return what works here. Each answer is {'ok': bool, 'detail': str}; the detail of a failure says what to do."""
    return {name: begin(name)() for name in _checks()}


def begin(name: str) -> Callable[[], Answer]:
    """Start one of these checks. Returns a function that waits for its answer."""
    return _start(_checks()[name])


def reach(uid: int, paths: tuple[str, ...]) -> Answer:
    """Return whether a user can enter these directories: one closed parent is enough to fail."""

    def enter_all() -> str:
        identity.become(uid, uid)
        for path in paths:
            if not os.access(path, os.X_OK):
                raise Missing(path)
        return ""

    return _in_child(enter_all)


def _checks() -> dict[str, Callable[[], str]]:
    return {
        "userNamespace": _user_namespace,
        "namespaces": _namespaces,
        "proc": _fresh_proc,
        "landlock": _landlock,
        "landlockLevel": _landlock_level,
        "seccomp": _seccomp,
        "cgroup": _cgroup,
        "pidfd": _pidfd,
        "sessionUids": _session_uids,
    }


class Missing(Exception):
    """Something that this machine does not have; the text says what to do."""


def _user_namespace() -> str:
    """Check that ids can be mapped and a file system mounted in a user namespace."""
    try:
        _enter_user_namespace(kernel.NEWNS)
        kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
        kernel.mount("tmpfs", "/usr", "tmpfs")
    except OSError as error:
        raise Missing(f"{_say(error)}. {_namespace_advice(error)}") from error
    return "ids mapped and a file system mounted"


def _namespaces() -> str:
    """Check all kinds at once, as an enclosure uses them."""
    try:
        _enter_user_namespace(_ALL_BUT_USER)
    except OSError as error:
        raise Missing(f"{_say(error)}. {_namespace_advice(error)}") from error
    return "user, mount, pid, net, ipc, uts and cgroup"


def _fresh_proc() -> str:
    """Check for a new /proc in a new pid namespace. The kernel allows it only if the old one is fully visible."""
    _enter_user_namespace(kernel.NEWNS | kernel.NEWPID)
    answer = _in_child(_mount_proc)
    if not answer["ok"]:
        advice = "Containers mask /proc: run with --security-opt systempaths=unconfined (podman: unmask=ALL)"
        raise Missing(f"{answer['detail']}. {advice}; sessions run without /proc until then")
    return "a private /proc can be mounted"


def _mount_proc() -> str:
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("proc", "/proc", "proc", 0, "hidepid=2")
    return ""


def _landlock() -> str:
    version = landlock.abi()
    if version == 0:
        raise Missing("not in this kernel, or not in its lsm= list: Linux 5.13 or later with lsm=landlock,... has it")
    kernel.no_new_privileges()
    landlock.restrict(read_only=["/usr"], read_write=[], tcp=False, list_root=False)
    try:
        os.listdir("/etc")
    except PermissionError:
        return f"ABI {version}"
    raise Missing(f"ABI {version} is announced, but a closed directory could be read")


def _landlock_level() -> str:
    """Check for what the level `landlock` needs, where Landlock is the first line."""
    has_own_uids = bool(_in_child(_session_uids)["ok"])
    problem = landlock.shortfall(landlock.abi(), has_own_uids=has_own_uids)
    if problem is not None:
        raise Missing(problem)
    return "possible, with user ids of their own" if has_own_uids else "possible"


def _seccomp() -> str:
    kernel.no_new_privileges()
    seccomp.install(seccomp.assemble(shared_memory=False, families=()))
    try:
        kernel.unshare(kernel.NEWUTS)
    except PermissionError:
        return f"filter installed, {kernel.ARCH}"
    raise Missing("the filter was installed, but unshare was not refused")


def _cgroup() -> str:
    cgroups = cgroup.find()
    if cgroups.kind == "none":
        raise Missing(cgroups.reason)
    return f"{cgroups.kind}: {', '.join(cgroups.directories)}"


def _pidfd() -> str:
    fd = os.pidfd_open(os.getpid())
    signal.pidfd_send_signal(fd, 0)
    return "open and signal"


def _session_uids() -> str:
    """Check for user ids of sessions: as root, each session gets its own, far from those of people and services."""
    if os.getuid() != 0:
        raise Missing("not root: sessions share our uid, each in a user namespace of its own")
    try:
        identity.become(_HIGH_UID, _HIGH_UID)
    except OSError as error:
        mapped = " and ".join(f"{first} to {last}" for first, last in _mapped_ranges()) or "none"
        raise Missing(f"{_say(error)}: uid {_HIGH_UID} is not mapped here; mapped are {mapped}") from error
    return f"uid {_HIGH_UID} can be taken"


def _mapped_ranges() -> list[tuple[int, int]]:
    """Return first and last of each range of uids in our user namespace."""
    rows = [line.split() for line in textfile.read("/proc/self/uid_map").splitlines()]
    return [(int(first), int(first) + int(count) - 1) for first, _, count in rows]


def _enter_user_namespace(more: int) -> None:
    """Enter it as an enclosure does: root takes the uid of a session first, so the rules for ordinary users apply."""
    if os.getuid() == 0:
        uid = min(_HIGH_UID, max(last for _, last in _mapped_ranges()))
        identity.become(uid, uid)
        kernel.set_dumpable(True)
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(kernel.NEWUSER | more)
    identity.map_ids(1000, uid, gid)


def _namespace_advice(error: OSError) -> str:
    """Return what to do about an error, judging by the settings of the kernel."""
    if _setting("user/max_user_namespaces") == "0" or error.errno == errno.ENOSPC:
        return "User namespaces are used up or switched off: sysctl user.max_user_namespaces=15000"
    if _setting("kernel/unprivileged_userns_clone") == "0":
        return "User namespaces are closed to users: sysctl kernel.unprivileged_userns_clone=1"
    if _setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return (
            "AppArmor closes user namespaces to users: sysctl kernel.apparmor_restrict_unprivileged_userns=0, "
            "or load a profile with `userns,`"
        )
    if error.errno == errno.EPERM:
        return (
            "A filter refuses it, as Docker's default does: run the container with --security-opt seccomp=unconfined, "
            "or a profile that allows unshare, mount, pivot_root and setns"
        )
    if error.errno in (errno.EINVAL, errno.ENOSYS):
        return "This kernel was built without it"
    return "Run as root, or ask who runs this machine"


def _setting(name: str) -> str:
    """Return a sysctl, or an empty string if the kernel does not have it."""
    try:
        return textfile.read(f"/proc/sys/{name}").strip()
    except OSError:
        return ""


def _say(error: OSError) -> str:
    """Return the name of the error and its message, which names the call."""
    return f"{errno.errorcode.get(error.errno or 0, '?')} ({error.strerror or error})"


def _in_child(check: Callable[[], str]) -> Answer:
    return _start(check)()


def _start(check: Callable[[], str]) -> Callable[[], Answer]:
    """Run a check in a child, so that nothing it changes remains."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        _answer(check, write_end)
    os.close(write_end)

    def wait() -> Answer:
        with open(read_end, encoding="utf-8") as answers:
            text = answers.read()
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return {"ok": status == 0, "detail": text or f"the check ended with status {status}"}

    return wait


def _answer(check: Callable[[], str], write_end: int) -> None:
    """In the child: send the result, and end."""
    status = 1
    try:
        text, status = check(), 0
    except OSError as error:
        text = _say(error)
    except BaseException as error:  # any exception is an answer
        text = str(error)
    os.write(write_end, text.encode(errors="replace")[:4000])
    os._exit(status)
