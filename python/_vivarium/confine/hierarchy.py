"""Finds our own place in the machine's control group hierarchies and readies it for children."""

from __future__ import annotations

import errno
import os

from _vivarium.confine import textfile
from _vivarium.record import Record

_LEAF = "vivarium-main"
_ADVICE = {
    errno.EACCES: "run as root, or in a delegated cgroup: systemd-run --user --scope -p Delegate=yes",
    errno.EPERM: "run as root, or in a delegated cgroup: systemd-run --user --scope -p Delegate=yes",
    errno.EROFS: "the cgroup file system is read-only: give the container a writable one (--cgroupns=private, privileged)",
    errno.EBUSY: "other processes share our cgroup: start in one of our own, as a service or by systemd-run --scope -p Delegate=yes",
}


class Places(Record):
    """Our own directory for each controller; v2 has the same one for all."""

    kind: str
    parents: tuple[tuple[str, str], ...] = ()
    reason: str = ""


def locate(mountinfo: str, membership: str) -> Places:
    """Read /proc/self/mountinfo and /proc/self/cgroup; the hierarchy that has the memory controller counts."""
    own = {name: path for _, names, path in _memberships(membership) for name in names.split(",")}
    v1: dict[str, str] = {}
    v2: str | None = None
    for point, root, kind, options in _cgroup_mounts(mountinfo):
        if kind == "cgroup2":
            v2 = v2 or _directory(point, root, own.get(""))
        for controller in {"memory", "pids"} & set(options) if kind == "cgroup" else ():
            directory = _directory(point, root, own.get(controller))
            if directory:
                v1[controller] = directory
    if "memory" in v1:
        return Places("v1", tuple(sorted(v1.items())))
    if v2 is None:
        return Places("none", reason="no cgroup file system is mounted: mount cgroup2 on /sys/fs/cgroup")
    controllers = _words(f"{v2}/cgroup.controllers")
    if "memory" not in controllers:
        return Places("none", reason=f"{v2} has no memory controller: delegate it (systemd: Delegate=yes)")
    return Places("v2", tuple((name, v2) for name in ("memory", "pids") if name in controllers))


def enable(directory: str) -> None:
    """Let children of a v2 group have controllers; processes in the group itself must step down into a leaf first."""
    wanted = {"memory", "pids"} & set(_words(f"{directory}/cgroup.controllers"))
    missing = wanted - set(_words(f"{directory}/cgroup.subtree_control"))
    if not missing:
        return
    order = " ".join(f"+{name}" for name in sorted(missing))
    control = f"{directory}/cgroup.subtree_control"
    try:
        textfile.write(control, order)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        _step_down(directory)
        textfile.write(control, order)


def explain(error: OSError, places: Places) -> str:
    """Why no group could be made, and what to do."""
    where = ", ".join(sorted({directory for _, directory in places.parents}))
    name = errno.errorcode.get(error.errno, "?")
    return f"{name} in {where}: {_ADVICE.get(error.errno, error.strerror)}"


def _step_down(directory: str) -> None:
    """Move ourselves and those who started us into a leaf; strangers in the group are left alone, and then it fails."""
    family = _ancestors()
    members = {int(pid) for pid in _words(f"{directory}/cgroup.procs")}
    if members - family:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
    os.makedirs(f"{directory}/{_LEAF}", exist_ok=True)
    for pid in sorted(members):
        textfile.write(f"{directory}/{_LEAF}/cgroup.procs", str(pid))


def _ancestors() -> set[int]:
    """This process, its parent, and so on."""
    family: set[int] = set()
    pid = os.getpid()
    while pid > 0:
        family.add(pid)
        stat = textfile.read(f"/proc/{pid}/stat")
        pid = int(stat.rpartition(")")[2].split()[1])
    return family


def _memberships(text: str) -> list[list[str]]:
    """Rows of /proc/self/cgroup: id, controllers, path."""
    return [line.split(":", 2) for line in text.splitlines()]


def _cgroup_mounts(text: str) -> list[tuple[str, str, str, list[str]]]:
    """Mount point, root inside the hierarchy, type and options of each cgroup mount."""
    found = []
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            fields = left.split(" ")
            found.append((fields[4], fields[3], kind, options.split(",")))
    return found


def _directory(point: str, root: str, own: str | None) -> str | None:
    """Where our own group is seen (from a leaf: the one above); None when the mount shows another part."""
    if own is None or "/.." in own or not f"{own}/".startswith(f"{root.rstrip('/')}/"):
        return None
    directory = os.path.normpath(f"{point}/{own[len(root.rstrip('/')) :]}")
    return os.path.dirname(directory) if os.path.basename(directory) == _LEAF else directory


def _words(path: str) -> list[str]:
    """The words of a control file; none when it is missing."""
    try:
        return textfile.read(path).split()
    except OSError:
        return []
