"""Opens enclosures for sessions: one step at a time, so that the zygote's loop can do more urgent work in between."""

from __future__ import annotations

import os
import select
import socket
from collections import deque
from collections.abc import Callable

from _vivarium.confine.removal import Removals
from _vivarium.enclosure.home import make_directories
from _vivarium.record import Fields
from _vivarium.values.hints import Any
from _vivarium.worker.join import Admission, WorkerSettings
from _vivarium.zygote.setup import Setup
from _vivarium.zygote.supply import BuildFailed, Enclosure, Supply
from _vivarium.zygote.workers import ForkedWorker, fork_into, fork_with_subreaper

CGROUP_SLACK = 128 << 20
OPEN_ATTEMPTS = 4


class OpenEnclosure(Fields):
    """An enclosure with a session, as the zygote knows it: processes and facts, nothing that the session computes."""

    id: str
    walls: Enclosure
    worker: int
    oom_kills: int = 0
    cause: str | None = None
    failure: str | None = None  # why it could not be served any more, and was ended
    reportable: int = 0  # how many workers there are whose end its pid 1 may tell
    is_leaving: bool = False  # its subreaper was told to end everything, and itself
    admission: Admission | None = None
    commands: frozenset[int] = frozenset()  # numbers of those whose end its pid 1 may tell


class Openings:
    """The sessions that wait for an enclosure. Without namespaces there is no supply: enclosures are made on demand."""

    def __init__(
        self,
        setup: Setup,
        supply: Supply | None,
        epoll: select.epoll,
        opened: Callable[[OpenEnclosure], None],
        failed: Callable[[str, str], None],
    ) -> None:
        self._setup = setup
        self._supply = supply
        self._epoll = epoll
        self._opened = opened
        self._failed = failed
        self._own_pid_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self._queue: deque[dict[str, Any]] = deque()
        self._removals = Removals()
        self._count = 0
        self._builder = 0
        self._builder_fd = -1
        self._serving: dict[str, Any] | None = None

    def start(self) -> None:
        """Order enclosures ahead of time."""
        if self._supply is not None:
            self._supply.refill()
            self._follow_builder(self._supply)

    def add(self, command: dict[str, Any]) -> None:
        """Open a session when its turn comes."""
        self._queue.append(command)

    def cancel(self, name: str) -> bool:
        """Cancel the opening of a session. Returns whether it was still waiting."""
        for command in self._queue:
            if command["enclosure"] == name:
                self._queue.remove(command)
                return True
        return self._supply is not None and self._supply.cancel(name)

    def next_s(self) -> float | None:
        """Return how long the loop may sleep before the next step, or None until something happens."""
        pauses = [0.0] if self._queue else []
        later = (self._removals.next_s(), self._supply.next_s() if self._supply is not None else None)
        return min([*pauses, *(pause for pause in later if pause is not None)], default=None)

    def step(self) -> ForkedWorker | None:
        """Do the next thing, at most one fork. Returns a worker in the child that becomes it."""
        self._serving = None
        self._removals.attempt()
        supply = self._supply
        if supply is not None:
            supply.resume()
            self._follow_builder(supply)
            delivery = self._receive(supply)
            if delivery is not None:
                return self._fork_worker(supply, *delivery)
        if self._queue:
            self._serving = self._queue.popleft()
            return self._open(self._serving)
        return None

    def give_up(self, problem: str) -> None:
        """The last step has failed: so has the opening that it was about."""
        if self._serving is not None:
            self._failed(self._serving["enclosure"], problem)

    def discard(self, enclosure: Enclosure) -> None:
        """End an enclosure, and remove its control group as soon as that is possible."""
        self._setup.processors.release(enclosure.processors)
        if self._supply is not None:
            self._supply.discard(enclosure)
            return
        enclosure.close()
        if enclosure.group is not None:
            self._removals.add(0, enclosure.group)

    def remove(self, pid: int) -> None:
        """Forget a process that has ended and is of no session."""
        if self._supply is not None:
            self._supply.remove(pid)

    def disown(self) -> None:
        """In a child: detach objects from their descriptors, or they would close what has those numbers later."""
        if self._supply is not None:
            self._supply.disown()
        self._epoll.close()

    # With namespaces

    def _follow_builder(self, supply: Supply) -> None:
        """Wait on the channel of the present builder. The kernel forgets that of the last one when it is closed."""
        if self._builder_fd != supply.fileno() or self._builder != supply.builder:
            self._builder_fd, self._builder = supply.fileno(), supply.builder
            if self._builder_fd >= 0:
                self._epoll.register(self._builder_fd, select.EPOLLIN)

    def _receive(self, supply: Supply) -> tuple[dict[str, Any] | None, Enclosure] | None:
        try:
            return supply.receive()
        except BuildFailed as failure:
            self._failed(failure.command["enclosure"], str(failure))
        except OSError:
            supply.replace_builder()
            self._follow_builder(supply)
        return None

    def _open(self, command: dict[str, Any]) -> ForkedWorker | None:
        if self._supply is None:
            return self._open_without_namespaces(command)
        enclosure = self._supply.claim(command)
        if enclosure is not None:
            self._admit(command, enclosure)
        return None

    def _fork_worker(self, supply: Supply, command: dict[str, Any] | None, enclosure: Enclosure) -> ForkedWorker | None:
        """Fork a worker into a new enclosure, for the session that waits for it or for a later one."""
        self._serving = command
        try:
            worker = fork_into(self.worker_settings(enclosure), self._own_pid_namespace, self.disown)
        except OSError as error:
            supply.discard(enclosure)
            self._open_again(command, f"fork: {error.strerror}")
            return None
        if isinstance(worker, ForkedWorker):
            return worker
        for fd in enclosure.namespaces:
            os.close(fd)
        enclosure.namespaces, enclosure.worker = (), worker
        if enclosure.group is None:
            worker.release()
        else:
            supply.attach(enclosure.group, worker.pid, worker.go)  # moving a process takes milliseconds
        if command is None:
            supply.keep(enclosure)
        else:
            self._admit(command, enclosure)
        return None

    def _open_again(self, command: dict[str, Any] | None, problem: str) -> None:
        """Try another enclosure after one was lost before its session began, unless that happens every time."""
        if command is None:
            return
        attempts = command.get("attempts", 0) + 1
        if attempts < OPEN_ATTEMPTS:
            self._queue.append({**command, "attempts": attempts})
        else:
            self._failed(command["enclosure"], problem)

    # Without namespaces

    def _open_without_namespaces(self, command: dict[str, Any]) -> ForkedWorker | None:
        """Open a session whose pid 1 is a subreaper."""
        self._count += 1
        workspace = command["workspace"] or f"{self._setup.instance}-{self._count}"
        uid = command["uid"] or self._setup.uid_of(self._count)
        make_directories(f"{self._setup.sessions}/{workspace}", uid if self._setup.privileged else None)
        group = None
        if self._setup.cgroups.kind != "none":
            name = f"vivarium-{self._setup.instance}-{self._count}"
            limits_cpus = command["limits"]["cpus"] is not None
            group = self._setup.cgroups.create(name, memory_bytes=None, processes=None, limits_cpus=limits_cpus)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        enclosure = Enclosure(0, workspace, uid, ours.detach(), (), group)
        admission = self._setup.admission(command, is_first=command["isFirst"])
        try:
            self._limit(command, enclosure, admission)
            settings = self.worker_settings(enclosure)
            worker = fork_with_subreaper(
                theirs, settings, admission, self._setup.socket, self._setup.guard_uid, self.disown
            )
            if isinstance(worker, ForkedWorker):
                return worker
            theirs.close()
            enclosure.pid1, enclosure.worker = worker.pid, worker
            if group is not None:
                group.attach(worker.pid)
            worker.release()
        except BaseException:
            self.discard(enclosure)
            raise
        # Its worker is not our child.
        opened = OpenEnclosure(command["enclosure"], enclosure, 0, reportable=1, admission=admission)
        try:
            self._opened(opened)
        except BaseException:
            self.discard(enclosure)
            raise
        return None

    # Admission

    def _admit(self, command: dict[str, Any], enclosure: Enclosure) -> None:
        """Hand a session to the worker that waits in an enclosure. One whose limits cannot be set is never admitted."""
        worker = enclosure.worker
        if worker is None:
            raise ProcessLookupError("the enclosure has no worker")
        admission = self._setup.admission(command, is_first=command["isFirst"])
        try:
            self._limit(command, enclosure, admission)
            worker.admit(admission, enclosure.channels)
        except OSError as error:  # the worker was killed meanwhile
            self.discard(enclosure)
            self._open_again(command, f"admission: {error.strerror}")
            return
        for fd in enclosure.channels:
            os.close(fd)
        enclosure.channels = ()
        try:
            self._opened(OpenEnclosure(command["enclosure"], enclosure, worker.pid, admission=admission))
        except BaseException:
            self.discard(enclosure)
            raise
        if self._supply is not None:
            self._supply.refill()

    def _limit(self, command: dict[str, Any], enclosure: Enclosure, admission: Admission) -> None:
        enclosure.processors = admission.cpus
        self._setup.processors.hold(admission.cpus)
        if enclosure.group is not None:
            enclosure.group.set_memory(2 * admission.memory_bytes + CGROUP_SLACK)
            enclosure.group.set_processes(admission.processes)
            if admission.has_quota:
                enclosure.group.set_cpus(command["limits"]["cpus"])

    def worker_settings(self, enclosure: Enclosure) -> WorkerSettings:
        """Return what the processes of a session know that runs in this enclosure."""
        home = f"{self._setup.sessions}/{enclosure.workspace}"
        return self._setup.worker_settings(enclosure.uid, enclosure.namespaces, enclosure.group is not None, home)
