"""Reads what /proc and control groups say about the processes of a session."""

from __future__ import annotations

import errno
import os
import time

from _vivarium.record import Record

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
# Which fields of /proc/PID/stat follow the name, counted from the state.
_STATE, _PARENT, _SESSION, _TIMES, _THREADS, _START, _VIRTUAL, _RESIDENT = 0, 1, 3, slice(11, 15), 17, 19, 20, 21
_READ = 8192
_ENDED = (b"Z", b"X")
# All enclosures that are looked at in one pass share one list of the processes there are.
LIST_S = 0.05


class Place(Record):
    """Where the processes of an enclosure are found: in its control group, its pid namespace, or below its pid 1."""

    pid1: int
    worker: int  # as long as it is a child of the zygote, else 0
    group: str | None  # the directory of its control group


class Sample(Record):
    """What one look at a process found."""

    pid: int
    parent: int
    thread: int  # one that has not ended, if there is any: the first one can end before the others
    is_ended: bool
    is_running: bool  # or would be, if a processor were free
    is_held_up: bool  # by the kernel, so that no signal reaches it
    cpu_s: float  # with that of children that have ended
    threads: int
    started: int  # together with the pid it identifies a process
    session: int  # the terminal session, by which the scheduler groups processes
    resident_bytes: int
    virtual_bytes: int


class Processes:
    """Finds the processes of enclosures. Where no fresh /proc can be mounted, it has pids of the outer namespace."""

    def __init__(self) -> None:
        self._proc_is_own = os.readlink("/proc/self") == str(os.getpid())
        self._outer: dict[int, int] = {}
        self._own_namespace = _pid_namespace("self")
        self._by_namespace: dict[int, list[int]] = {}
        self._listed_s = -LIST_S

    def of(self, place: Place) -> list[int]:
        """Return the pids of everything in an enclosure, as /proc has them."""
        members = _members(place.group) if place.group is not None else None
        if members is not None:
            return self._translated(members)
        # Where there are no namespaces, all of them are below the subreaper, which no process can leave.
        tree = _tree(self._translated([pid for pid in (place.worker, place.pid1) if pid]))
        return list({*tree, *self._members_of(tree)})

    def _members_of(self, tree: list[int]) -> list[int]:
        """Return all processes in the pid namespace of these processes, including those outside of the tree."""
        namespace = next((found for found in map(_pid_namespace, tree) if found is not None), None)
        if namespace is None or namespace == self._own_namespace:
            return []
        now = time.monotonic()
        if now - self._listed_s >= LIST_S:
            self._listed_s, self._by_namespace = now, {}
            for name in os.listdir("/proc"):
                found = _pid_namespace(name) if name.isdigit() else None
                if found is not None:
                    self._by_namespace.setdefault(found, []).append(int(name))
        return self._by_namespace.get(namespace, [])

    def _translated(self, pids: list[int]) -> list[int]:
        if self._proc_is_own:
            return pids
        if any(pid not in self._outer for pid in pids):
            self._outer = _outer_pids()
        return [self._outer[pid] for pid in pids if pid in self._outer]


def mapped_files(pids: list[int]) -> set[str]:
    """Return the paths of all files that processes have mapped to be written, as those see them."""
    found = set()
    for pid in pids:
        try:
            with open(f"/proc/{pid}/maps", "rb", buffering=0) as file:
                lines = file.read().split(b"\n")
        except OSError:
            continue  # it has just ended, or is not for us to look into
        for line in lines:
            head, slash, path = line.partition(b"/")
            if b" rw-s " in head and slash:
                found.add(os.fsdecode(slash + path))
    return found


def sample(pid: int) -> Sample | None:
    """Look at a process; None if it is gone."""
    fields = _stat(f"/proc/{pid}/stat")
    if fields is None:
        return None
    thread, living = pid, fields
    if fields[_STATE] in _ENDED and int(fields[_THREADS]) > 1:
        thread, living = _living_thread(pid) or (pid, fields)
    return Sample(
        pid=pid,
        parent=int(fields[_PARENT]),
        thread=thread,
        is_ended=living[_STATE] in _ENDED,
        is_running=living[_STATE] == b"R",
        is_held_up=living[_STATE] == b"D",
        cpu_s=sum(map(int, fields[_TIMES])) / CLOCK_TICKS,
        threads=int(fields[_THREADS]),
        started=int(fields[_START]),
        session=int(fields[_SESSION]),
        resident_bytes=int(living[_RESIDENT]) * PAGE,
        virtual_bytes=int(living[_VIRTUAL]),
    )


def _stat(path: str) -> list[bytes] | None:
    text = read(path)
    return None if not text else text.rpartition(b")")[2].split()  # a process can call itself anything


def _living_thread(pid: int) -> tuple[int, list[bytes]] | None:
    """Find a thread that goes on after the first one has ended, and with which all its memory seems to be gone."""
    try:
        names = os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):
        return None
    for name in names:
        fields = _stat(f"/proc/{pid}/task/{name}/stat")
        if fields is not None and fields[_STATE] not in _ENDED:
            return int(name), fields
    return None


def main_thread_s(pid: int) -> float:
    """Return the processor time of the main thread of a process."""
    text = read(f"/proc/{pid}/task/{pid}/stat")
    return sum(map(int, text.rpartition(b")")[2].split()[11:13])) / CLOCK_TICKS if text is not None else 0.0


def processor_s(pid: int) -> float:
    """Return the processor time of the main thread of a process, to the nanosecond."""
    text = read(f"/proc/{pid}/schedstat")
    return int(text.split()[0]) / 1e9 if text else 0.0


def inner_pid(pid: int) -> int:
    """Return the number of a process in its own pid namespace, or 0 if it is gone."""
    return status(pid, (b"NSpid",)).get(b"NSpid", 0)


def parent_pid() -> int:
    """Return the pid of our parent, as /proc has it."""
    return status("self", (b"PPid",)).get(b"PPid", 0)


def _pid_namespace(name: int | str) -> int | None:
    """Return the number of the pid namespace that a process is in; None if that is not told."""
    try:
        return os.stat(f"/proc/{name}/ns/pid").st_ino
    except OSError:  # it has just ended, or is not for us to look into
        return None


def status(pid: int | str, keys: tuple[bytes, ...]) -> dict[bytes, int]:
    """Return numbers from /proc/PID/status; of several in a line the last, apart from a unit."""
    found: dict[bytes, int] = {}
    for line in (read(f"/proc/{pid}/status") or b"").split(b"\n"):
        key, _, value = line.partition(b":")
        if key in keys:
            found[key] = int(value.replace(b"kB", b"").split()[-1])
    return found


def _members(group: str) -> list[int] | None:
    """Return the processes in a control group, or None if it is gone."""
    try:
        fd = os.open(f"{group}/cgroup.procs", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        return _none_if_gone(error)
    try:
        chunks = []
        while chunk := os.read(fd, 1 << 16):
            chunks.append(chunk)
    except OSError as error:
        return _none_if_gone(error)
    finally:
        os.close(fd)
    return [int(pid) for pid in b"".join(chunks).split() if pid != b"0"]  # 0 is a process of another namespace


def _none_if_gone(error: OSError) -> None:
    if isinstance(error, FileNotFoundError) or error.errno == errno.ENODEV:  # removed while it was open
        return
    raise error


def _tree(roots: list[int]) -> list[int]:
    """Return `roots` and all processes below them, each once."""
    seen: set[int] = set()
    pending = list(roots)
    while pending:
        pid = pending.pop()
        if pid not in seen:
            seen.add(pid)
            pending += _children(pid)
    return list(seen)


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                children += map(int, file.read().split())
    except OSError as error:
        if isinstance(error, (FileNotFoundError, ProcessLookupError)):
            return children  # the process ended while we looked
        raise
    return children


def _outer_pids() -> dict[int, int]:
    """Return the pids of the outer namespace by those of our own."""
    depth = len(_namespace_pids("self"))
    found = {}
    for name in os.listdir("/proc"):
        numbers = _namespace_pids(name) if name.isdigit() else []
        if len(numbers) >= depth > 1:
            found[numbers[depth - 1]] = numbers[0]
    return found


def _namespace_pids(name: str) -> list[int]:
    for line in (read(f"/proc/{name}/status") or b"").split(b"\n"):
        if line.startswith(b"NSpid:"):
            return [int(number) for number in line.split()[1:]]
    return []  # it has just ended


def read(path: str) -> bytes | None:
    """Return the start of a small file of the kernel, or None if its process is gone."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError):
        return None
    try:
        return os.read(fd, _READ)
    except ProcessLookupError:
        return None
    finally:
        os.close(fd)
