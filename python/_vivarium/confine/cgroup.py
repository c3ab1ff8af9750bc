"""Limits memory, processes and processors of a session with a control group below our own, and counts memory."""

from __future__ import annotations

import os
import time

from _vivarium.confine import hierarchy, textfile
from _vivarium.record import Record

_NO_SWAP = "memory.swap.max"
# With v1, buffers of TCP are counted apart from everything else. They come out of one stock for the whole machine.
_TCP = "memory.kmem.tcp.limit_in_bytes"
_TCP_BYTES = 32 << 20
_PERIOD_US = 100_000


class Group(Record):
    """The control group of one session: a directory for each controller (v1) or one for all (v2)."""

    kind: str
    directories: dict[str, str]

    def attach(self, pid: int) -> None:
        """Move a process into the group. Its future children are members as well."""
        for directory in set(self.directories.values()):
            _write(f"{directory}/cgroup.procs", pid)

    def set_memory(self, memory_bytes: int) -> None:
        """Set the hard limit of memory, swap included."""
        directory = self.directories["memory"]
        if self.kind == "v2":
            _write(f"{directory}/memory.max", memory_bytes)
            if os.path.exists(f"{directory}/{_NO_SWAP}"):
                _write(f"{directory}/{_NO_SWAP}", 0)
            return
        names = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"]
        names = [name for name in names if os.path.exists(f"{directory}/{name}")]
        try:
            _write_all(directory, names, memory_bytes)
        except OSError:  # the limit of memory cannot exceed that with swap, so raising takes the other order
            _write_all(directory, names[::-1], memory_bytes)
        if os.path.exists(f"{directory}/{_TCP}"):
            _write(f"{directory}/{_TCP}", min(memory_bytes, _TCP_BYTES))

    def set_processes(self, processes: int) -> None:
        """Limit processes and threads. Without the controller, RLIMIT_NPROC is the only limit."""
        if "pids" in self.directories:
            _write(f"{self.directories['pids']}/pids.max", processes)

    def set_cpus(self, cpus: float) -> None:
        """Limit processor time to that of so many processors, which may be a fraction."""
        directory, quota = self.directories["cpu"], round(cpus * _PERIOD_US)
        if self.kind == "v2":
            _write(f"{directory}/cpu.max", f"{quota} {_PERIOD_US}")
            return
        _write(f"{directory}/cpu.cfs_period_us", _PERIOD_US)
        _write(f"{directory}/cpu.cfs_quota_us", quota)

    def memory_bytes(self) -> int:
        """Return the memory in use, including caches and memory filesystems."""
        name = "memory.current" if self.kind == "v2" else "memory.usage_in_bytes"
        return int(_read(f"{self.directories['memory']}/{name}"))

    def oom_kills(self) -> int:
        """Return how often the kernel killed a process of this group for lack of memory."""
        name = "memory.events" if self.kind == "v2" else "memory.oom_control"
        counts = dict(line.split() for line in _read(f"{self.directories['memory']}/{name}").splitlines())
        return int(counts.get("oom_kill", 0))

    def remove(self, timeout_s: float = 1.0) -> bool:
        """Remove the group as soon as its last process is gone. Returns False if that takes too long."""
        deadline = time.monotonic() + timeout_s
        # A list, so that every directory is tried.
        removed = [_remove(directory, deadline) for directory in set(self.directories.values())]
        return all(removed)


class Cgroups(Record):
    """Where groups can be made. `kind` is 'v1', 'v2' or 'none'; then `reason` says why and what to do."""

    kind: str
    reason: str = ""
    parents: tuple[tuple[str, str], ...] = ()

    @property
    def directories(self) -> tuple[str, ...]:
        """Return the directories that must be writable for `create`."""
        return tuple(sorted({directory for _, directory in self.parents}))

    @property
    def has_processors(self) -> bool:
        """Return whether groups can limit processor time."""
        return "cpu" in dict(self.parents)

    @property
    def is_per_controller(self) -> bool:
        """Return whether each controller has groups of its own (v1). Moving a process into each takes milliseconds."""
        return self.kind == "v1"

    def without_processes(self) -> Cgroups:
        """Return these without the v1 hierarchy that counts processes."""
        if not self.is_per_controller:
            return self
        return self.replaced(parents=tuple(parent for parent in self.parents if parent[0] != "pids"))

    def rebased(self, mapping: dict[str, str]) -> Cgroups:
        """Return the same groups with each directory at another path."""
        return self.replaced(parents=tuple((name, mapping[directory]) for name, directory in self.parents))

    def group(self, name: str) -> Group:
        """Return the group of this name, whether it exists or not."""
        return Group(self.kind, {controller: f"{parent}/{name}" for controller, parent in self.parents})

    def create(self, name: str, *, memory_bytes: int | None, processes: int | None, limits_cpus: bool = False) -> Group:
        """Make a group below our own. Leaves nothing behind if that fails. With v1, only some groups limit `cpus`."""
        if self.kind == "none":
            raise RuntimeError(f"no control groups: {self.reason}")
        group = self.group(name)
        if self.is_per_controller and not limits_cpus:
            group.directories.pop("cpu", None)
        made: list[str] = []
        try:
            for directory in sorted(set(group.directories.values())):
                os.mkdir(directory)
                made.append(directory)
            if memory_bytes is not None:
                group.set_memory(memory_bytes)
            if processes is not None:
                group.set_processes(processes)
        except OSError:
            for directory in made:
                _remove(directory, 0)
            raise
        return group


def find() -> Cgroups:
    """Find out where groups can be made, by making one. Prepares a v2 group for children if necessary."""
    try:
        places = hierarchy.locate(_read("/proc/self/mountinfo"), _read("/proc/self/cgroup"))
    except OSError as error:
        return Cgroups("none", f"/proc is not readable ({error.strerror})")
    if places.kind == "none":
        return Cgroups("none", places.reason)
    cgroups = Cgroups(places.kind, parents=tuple(parent for parent in places.parents if parent[0] != "cpu"))
    try:
        if places.kind == "v2":
            hierarchy.enable(places.parents[0][1])
        group = cgroups.create(f"vivarium-probe-{os.getpid()}", memory_bytes=1 << 30, processes=64)
        try:
            if places.kind == "v2":
                hierarchy.require_moves(places.parents[0][1], group.directories["memory"])
        finally:
            group.remove()
    except OSError as error:
        return Cgroups("none", hierarchy.explain(error, places))
    if not hierarchy.has_processors(places):
        return cgroups
    directory = dict(places.parents).get("cpu") or places.parents[0][1]
    return cgroups.replaced(parents=(*cgroups.parents, ("cpu", directory)))


def _remove(directory: str, deadline: float) -> bool:
    """Repeat rmdir until it works; EBUSY means that a process is still exiting."""
    while True:
        try:
            os.rmdir(directory)
            return True
        except FileNotFoundError:
            return True
        except OSError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.005)


def _write_all(directory: str, names: list[str], value: int) -> None:
    for name in names:
        _write(f"{directory}/{name}", value)


def _write(path: str, value: int | str) -> None:
    """Write a control file in one call, so that an error belongs to this value."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, str(value).encode())
    except OSError as error:
        raise OSError(error.errno, f"{path}: {error.strerror}") from error
    finally:
        os.close(fd)


def _read(path: str) -> str:
    return textfile.read(path)
