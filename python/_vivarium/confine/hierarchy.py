"""Finds our own control group in the hierarchies of the machine, and prepares it for children."""

from __future__ import annotations

import errno
import os

from _vivarium.confine import textfile
from _vivarium.record import Record

_LEAF = "vivarium-main"
_ADVICE = {
    errno.EACCES: "run as root, or in a delegated cgroup: systemd-run --user --scope -p Delegate=yes",
    errno.EPERM: "run as root, or in a delegated cgroup: systemd-run --user --scope -p Delegate=yes",
    errno.EROFS: "the cgroup file system is read-only: start the container with a writable one (--cgroupns=private)",
    errno.EBUSY: "other processes share our cgroup: start as a service, or by systemd-run --scope -p Delegate=yes",
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
    """Enable controllers for children of a v2 group. Processes in the group itself move into a leaf first."""
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
    """Return why no group could be made, and what to do."""
    where = ", ".join(sorted({directory for _, directory in places.parents}))
    name = errno.errorcode.get(error.errno or 0, "?")
    return f"{name} in {where}: {_ADVICE.get(error.errno or 0, error.strerror)}"


def _step_down(directory: str) -> None:
    """Move this process and its ancestors into a leaf. Raises EBUSY if the group has other members."""
    family = _ancestors()
    members = {int(pid) for pid in _words(f"{directory}/cgroup.procs")}
    if members - family:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
    os.makedirs(f"{directory}/{_LEAF}", exist_ok=True)
    for pid in sorted(members):
        textfile.write(f"{directory}/{_LEAF}/cgroup.procs", str(pid))


def _ancestors() -> set[int]:
    """Return the pids of this process, its parent, and so on."""
    family: set[int] = set()
    pid = os.getpid()
    while pid > 0:
        family.add(pid)
        stat = textfile.read(f"/proc/{pid}/stat")
        pid = int(stat.rpartition(")")[2].split()[1])
    return family


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
