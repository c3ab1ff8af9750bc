"""Finds our own control group in the hierarchies of the machine, and prepares it for children."""

from __future__ import annotations

import contextlib
import errno
import os

from _vivarium.confine import textfile
from _vivarium.record import Record

_LEAF = "vivarium-main"
# Processes may fork while they are moved. Children of those that have moved are in the leaf from the start.
_MOVES = 20
# Nine times the usual weight, as `surveyor/priorities.py` does it with autogroups: sessions do not crowd us out.
_LEAF_WEIGHT = 900
_ADVICE = {
    errno.EACCES: "run as root, or in a delegated cgroup: systemd-run --user --scope -p Delegate=yes",
    errno.EPERM: "run as root, or in a delegated cgroup: systemd-run --user --scope -p Delegate=yes",
    errno.EROFS: "the cgroup file system is read-only: start the container with a writable one (--cgroupns=private)",
    errno.EBUSY: "other processes share our cgroup: start as a service, or by systemd-run --scope -p Delegate=yes",
    errno.EOPNOTSUPP: "our cgroup is for threads (cgroup.type): start in one of the type domain",
}


class Places(Record):
    """Our own directory for each controller; with v2 it is the same for all."""

    kind: str
    parents: tuple[tuple[str, str], ...] = ()
    reason: str = ""


def locate(mountinfo: str, membership: str) -> Places:
    """Find our directories in the text of /proc/self/mountinfo and /proc/self/cgroup.

    Chooses the hierarchy that has the memory controller.
    """
    own = {name: path for _, names, path in _memberships(membership) for name in names.split(",")}
    v1: dict[str, str] = {}
    v2: str | None = None
    for point, root, kind, options in _cgroup_mounts(mountinfo):
        if kind == "cgroup2":
            v2 = v2 or _directory(point, root, own.get(""))
        for controller in {"memory", "pids", "cpu"} & set(options) if kind == "cgroup" else ():
            directory = _directory(point, root, own.get(controller))
            if directory:
                v1[controller] = directory
    if "memory" in v1:
        return Places("v1", tuple(sorted(v1.items())))
    if v2 is None:
        return Places("none", reason=f"{_absence(mountinfo)}: mount cgroup2 on /sys/fs/cgroup")
    controllers = _words(f"{v2}/cgroup.controllers")
    if "memory" not in controllers:
        return Places("none", reason=f"{v2} has no memory controller: delegate it (systemd: Delegate=yes)")
    return Places("v2", tuple((name, v2) for name in ("memory", "pids") if name in controllers))


def own_and_above(mountinfo: str, membership: str) -> list[str]:
    """Return our directory in the hierarchy that has the controller of processors, and those above it that we see."""
    own = {name: path for _, names, path in _memberships(membership) for name in names.split(",")}
    for point, root, kind, options in _cgroup_mounts(mountinfo):
        directory = None
        if kind == "cgroup" and "cpu" in options:
            directory = _directory(point, root, own.get("cpu"))
        elif kind == "cgroup2" and "cpu" not in own:
            directory = _directory(point, root, own.get(""))
        if directory is not None:
            steps = os.path.relpath(directory, point).split("/")
            return [os.path.normpath("/".join([point, *steps[:count]])) for count in range(len(steps) + 1)]
    return []


def enable(directory: str) -> None:
    """Enable controllers for children of a v2 group. Processes in the group itself move into a leaf first."""
    _enable(directory, {"memory", "pids"})
    # Here autogroups, which make sessions fair to each other, do not count. The root has no weight, and they do.
    if os.path.exists(f"{directory}/cpu.weight"):
        with contextlib.suppress(OSError):  # a kernel may refuse it where processes have real-time priorities
            _enable(directory, {"cpu"})
            textfile.write(f"{directory}/{_LEAF}/cpu.weight", str(_LEAF_WEIGHT))


def has_processors(places: Places) -> bool:
    """Return whether the children of our group can be held to a number of processors, now that it is prepared."""
    if places.kind == "v2":
        return "cpu" in _words(f"{places.parents[0][1]}/cgroup.subtree_control")
    directory = dict(places.parents).get("cpu")
    return directory is not None and os.access(directory, os.W_OK) and os.path.exists(f"{directory}/cpu.cfs_quota_us")


def require_moves(directory: str, child: str) -> None:
    """Raise OSError where processes cannot be moved from a v2 group, or from its leaf, to a child of the group."""
    if not os.access(f"{directory}/cgroup.procs", os.W_OK):  # which the kernel asks of the common ancestor
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    if _words(f"{child}/cgroup.type") not in (["domain"], []):
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))


def explain(error: OSError, places: Places) -> str:
    """Return why no group could be made, and what to do."""
    where = ", ".join(sorted({directory for _, directory in places.parents}))
    name = errno.errorcode.get(error.errno or 0, "?")
    return f"{name} in {where}: {_ADVICE.get(error.errno or 0, error.strerror)}"


def _enable(directory: str, controllers: set[str]) -> None:
    wanted = controllers & set(_words(f"{directory}/cgroup.controllers"))
    missing = wanted - set(_words(f"{directory}/cgroup.subtree_control"))
    order = " ".join(f"+{name}" for name in sorted(missing))
    for _ in range(_MOVES if missing else 0):
        try:
            textfile.write(f"{directory}/cgroup.subtree_control", order)
            return
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
        _step_down(directory)
    if missing:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def _step_down(directory: str) -> None:
    """Move the members of a group into its leaf. Raises EBUSY if one of them is not ours to move."""
    members = {int(pid) for pid in _words(f"{directory}/cgroup.procs")}
    # 0 stands for a process that our pid namespace does not show.
    if 0 in members or not (_is_container(directory) or members <= _family(members)):
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
    os.makedirs(f"{directory}/{_LEAF}", exist_ok=True)
    for pid in sorted(members):
        try:
            textfile.write(f"{directory}/{_LEAF}/cgroup.procs", str(pid))
        except ProcessLookupError:
            continue  # it has ended


def _is_container(directory: str) -> bool:
    """Return whether a group is the root of our cgroup namespace: then all that is in it was started with us."""
    is_root = not {"0::/", f"0::/{_LEAF}"}.isdisjoint(_words("/proc/self/cgroup"))
    return is_root and os.path.exists(f"{directory}/cgroup.type")


def _family(members: set[int]) -> set[int]:
    """Return the members that descend from the oldest of our ancestors among them, and those that have just ended."""
    oldest = next((pid for pid in reversed(_line(os.getpid())) if pid in members), None)
    return {pid for pid in members if oldest in (line := _line(pid)) or not line}


def _line(pid: int) -> list[int]:
    """Return a process, its parent, and so on; an empty list if one of them has just ended."""
    line: list[int] = []
    while pid > 0:
        line.append(pid)
        try:
            stat = textfile.read(f"/proc/{pid}/stat")
        except (FileNotFoundError, ProcessLookupError):
            return []
        pid = int(stat.rpartition(")")[2].split()[1])
    return line


def _absence(mountinfo: str) -> str:
    mounted = [point for point, _, kind, _ in _cgroup_mounts(mountinfo) if kind == "cgroup2"]
    return f"{mounted[0]} does not show our cgroup" if mounted else "no cgroup file system is mounted"


def _memberships(text: str) -> list[list[str]]:
    """Return the rows of /proc/self/cgroup: id, controllers, path."""
    return [line.split(":", 2) for line in text.splitlines()]


def _cgroup_mounts(text: str) -> list[tuple[str, str, str, list[str]]]:
    """Return mount point, root inside the hierarchy, type and options of each cgroup mount."""
    found = []
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            fields = left.split(" ")
            found.append((fields[4], fields[3], kind, options.split(",")))
    return found


def _directory(point: str, root: str, own: str | None) -> str | None:
    """Return the path of our own group, or of its parent if we are in the leaf; None if the mount lacks it."""
    if own is None or "/.." in own or not f"{own}/".startswith(f"{root.rstrip('/')}/"):
        return None
    directory = os.path.normpath(f"{point}/{own[len(root.rstrip('/')) :]}")
    return os.path.dirname(directory) if os.path.basename(directory) == _LEAF else directory


def _words(path: str) -> list[str]:
    """Return the words of a control file, or an empty list if it is missing."""
    try:
        return textfile.read(path).split()
    except OSError:
        return []
