"""The zygote's loop: opens enclosures for the host, passes commands to their pid 1, reaps, and reports facts."""

from __future__ import annotations

import json
import os
import select
import signal
import socket

from _vivarium import protocol
from _vivarium.enclosure.builder import make_directories
from _vivarium.enclosure.pid1 import reap
from _vivarium.enclosure.subreaper import end_orphans
from _vivarium.values.hints import Any, NoReturn
from _vivarium.worker.join import Admission, WorkerSettings
from _vivarium.zygote.setup import Setup
from _vivarium.zygote.supply import BuildFailed, Enclosure, OpenEnclosure, Supply
from _vivarium.zygote.survey import spawn_surveyor
from _vivarium.zygote.workers import ForkedWorker, WaitingWorker, fork_into, fork_with_subreaper

KILLED_BY_US = "closed"
CGROUP_SLACK = 128 << 20
OPEN_ATTEMPTS = 4
MAX_PROBLEM = 300


class Server:
    """Owns all enclosures of one zygote. Without namespaces there is no supply: enclosures are made on demand."""

    def __init__(self, control: int, setup: Setup, supply: Supply | None, surveyor: int) -> None:
        self._control = control
        self._surveyor = surveyor
        self._setup = setup
        self._supply = supply
        self._own_pid_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self._opened: dict[str, OpenEnclosure] = {}
        self._by_worker: dict[int, OpenEnclosure] = {}
        self._by_pid1: dict[int, OpenEnclosure] = {}
        self._by_lifeline: dict[int, OpenEnclosure] = {}
        self._count = 0
        self._epoll = select.epoll()

    def serve(self) -> ForkedWorker | None:
        """Serve until the host is gone, or return in a child that has become a worker."""
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_read, False)
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._epoll.register(self._control, select.EPOLLIN)
        self._epoll.register(wake_read, select.EPOLLIN)
        if self._supply is not None:
            self._epoll.register(self._supply.fileno(), select.EPOLLIN)
            self._supply.refill()
        while True:
            for fd, _ in self._epoll.poll():
                if fd == wake_read:
                    os.read(wake_read, 4096)
                    continue
                forked = self._contained(fd)
                if forked is not None:
                    return forked
            self._reap()

    def _contained(self, fd: int) -> ForkedWorker | None:
        """Serve one descriptor. Whatever goes wrong costs at most the enclosure that it is about."""
        command = self._receive() if fd == self._control else None
        opened = self._by_lifeline.get(fd)
        try:
            return self._handle(fd, command)
        except Exception as error:  # all other enclosures depend on this loop
            self._give_up(command, opened, f"{type(error).__name__}: {error}"[:MAX_PROBLEM])
            return None

    def _give_up(self, command: dict[str, Any] | None, opened: OpenEnclosure | None, problem: str) -> None:
        """End the enclosure that could not be served, and answer whoever waits for it."""
        if command is not None:
            opened = self._opened.get(command["enclosure"])
            if "request" in command:
                self._report({"event": "answer", "request": command["request"], "problem": problem})
            elif opened is None and command["op"] == "open":
                self._report({"event": "failed", "enclosure": command["enclosure"], "problem": problem})
        if opened is not None:
            opened.cause = problem
            self._kill(opened)

    def _handle(self, fd: int, command: dict[str, Any] | None) -> ForkedWorker | None:
        if command is not None:
            return self._handle_command(command)
        if self._supply is not None and fd == self._supply.fileno():
            return self._take_enclosure(self._supply)
        if fd in self._by_lifeline:
            self._read_lifeline(fd)
        return None

    # Commands of the host

    def _handle_command(self, command: dict[str, Any]) -> ForkedWorker | None:
        operation = command["op"]
        if operation == "open":
            return self._open(command)
        if operation == "survey":
            self._replace_surveyor(command["token"])
            return None
        opened = self._opened.get(command["enclosure"])
        if opened is None:
            self._handle_for_unknown(command)
        elif operation == "close":
            opened.cause = KILLED_BY_US
            self._kill(opened)
        elif operation == "oomed":
            problem = self._cause_of(opened)
            self._report({"event": "answer", "request": command["request"], "problem": problem})
        else:
            self._pass_on(opened, command)
        return None

    def _replace_surveyor(self, token: str) -> None:
        """Start another surveyor. The host asks for it, so that both know where in their channel it begins."""
        try:
            if self._surveyor:
                os.kill(self._surveyor, signal.SIGKILL)
            self._surveyor = spawn_surveyor(self._setup, token.encode())
        except OSError:  # no process to be had at the moment: the host asks again
            self._report({"event": "unsurveyed"})

    def _receive(self) -> dict[str, Any]:
        try:
            return protocol.receive(self._control)
        except protocol.Closed:
            self._end()

    def _handle_for_unknown(self, command: dict[str, Any]) -> None:
        if "request" in command:
            self._report({"event": "answer", "request": command["request"], "problem": "no such enclosure"})
        elif command["op"] == "close" and self._supply is not None and self._supply.cancel(command["enclosure"]):
            self._report({"event": "gone", "enclosure": command["enclosure"], "cause": KILLED_BY_US})

    def _pass_on(self, opened: OpenEnclosure, command: dict[str, Any]) -> None:
        """Send `interrupt`, `sweep` or `wake` to pid 1, because pids mean something only in its namespace."""
        try:
            os.write(opened.walls.lifeline, json.dumps(command).encode())
        except OSError as error:
            self._report({"event": "answer", "request": command["request"], "problem": f"pid 1 is gone: {error}"})

    # Opening

    def _open(self, command: dict[str, Any]) -> ForkedWorker | None:
        if self._supply is None:
            return self._open_without_namespaces(command)
        enclosure = self._supply.claim(command)
        return self._admit_in_turn(self._supply, command, enclosure) if enclosure is not None else None

    def _take_enclosure(self, supply: Supply) -> ForkedWorker | None:
        try:
            delivery = supply.receive()
        except BuildFailed as failure:
            self._report({"event": "failed", "enclosure": failure.command["enclosure"], "problem": str(failure)})
            return None
        except OSError:
            self._epoll.unregister(supply.fileno())
            supply.replace_builder()
            self._epoll.register(supply.fileno(), select.EPOLLIN)
            return None
        return self._fork_worker(supply, *delivery) if delivery is not None else None

    def _fork_worker(self, supply: Supply, command: dict[str, Any] | None, enclosure: Enclosure) -> ForkedWorker | None:
        """Fork a worker into a new enclosure, for the session that waits for it or for a later one."""
        try:
            worker = fork_into(self._worker_settings(enclosure), self._own_pid_namespace, self._disown)
        except OSError as error:
            enclosure.close()
            return self._open_again(command, f"fork: {error.strerror}") if command is not None else None
        if isinstance(worker, ForkedWorker):
            return worker
        for fd in enclosure.namespaces:
            os.close(fd)
        enclosure.namespaces, enclosure.worker = (), worker
        try:
            self._release(supply, enclosure, worker)
        except OSError as error:  # the builder was killed, and is replaced
            enclosure.close()
            return self._open_again(command, f"builder: {error.strerror}") if command is not None else None
        if command is not None:
            return self._admit_in_turn(supply, command, enclosure)
        supply.keep(enclosure)
        return None

    def _release(self, supply: Supply, enclosure: Enclosure, worker: WaitingWorker) -> None:
        """Let a worker prepare itself, once it is in its control group."""
        if enclosure.group is None:
            worker.release()
            return
        try:
            supply.attach(enclosure.group, worker.pid, worker.go)  # moving a process takes milliseconds
        finally:
            os.close(worker.go)

    def _admit_in_turn(self, supply: Supply, command: dict[str, Any], enclosure: Enclosure) -> ForkedWorker | None:
        """Give a session to the worker that waits in an enclosure, and order the next enclosure."""
        try:
            worker = self._admit(command, enclosure)
        except OSError as error:  # the worker was killed meanwhile
            enclosure.close()
            return self._open_again(command, f"admission: {error.strerror}")
        self._by_worker[worker.pid] = self._opened[command["enclosure"]]
        supply.refill()
        return None

    def _open_again(self, command: dict[str, Any], problem: str) -> ForkedWorker | None:
        """Try another enclosure after one was lost before its session began, unless that happens every time."""
        attempts = command.get("attempts", 0) + 1
        if attempts < OPEN_ATTEMPTS:
            return self._open({**command, "attempts": attempts})
        self._report({"event": "failed", "enclosure": command["enclosure"], "problem": problem})
        return None

    def _open_without_namespaces(self, command: dict[str, Any]) -> ForkedWorker | None:
        """Open a session whose pid 1 is a subreaper."""
        self._count += 1
        workspace = command["workspace"] or f"{self._setup.instance}-{self._count}"
        uid = command["uid"] or self._setup.uid_of(self._count)
        make_directories(f"{self._setup.sessions}/{workspace}", uid if self._setup.privileged else None)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        group = None
        if self._setup.cgroups.kind != "none":
            name = f"vivarium-{self._setup.instance}-{self._count}"
            group = self._setup.cgroups.create(name, memory_bytes=None, processes=None)
        enclosure = Enclosure(0, workspace, uid, ours.detach(), (), group)
        worker = fork_with_subreaper(theirs, self._worker_settings(enclosure), self._disown)
        if isinstance(worker, ForkedWorker):
            return worker
        theirs.close()
        enclosure.pid1, enclosure.worker = worker.pid, worker
        if group is not None:
            group.attach(worker.pid)
        worker.release()
        self._admit(command, enclosure)
        return None

    def _disown(self) -> None:
        """In a child: detach objects from their descriptors, or they would close what has those numbers later."""
        if self._supply is not None:
            self._supply.disown()
        self._epoll.close()

    def _worker_settings(self, enclosure: Enclosure) -> WorkerSettings:
        home = f"{self._setup.sessions}/{enclosure.workspace}"
        return self._setup.worker_settings(enclosure.uid, enclosure.namespaces, enclosure.group is not None, home)

    def _admit(self, command: dict[str, Any], enclosure: Enclosure) -> WaitingWorker:
        """Hand a session to a worker. One whose limits cannot be set is never admitted."""
        worker = enclosure.worker
        if worker is None:
            raise ProcessLookupError("the enclosure has no worker")
        admission = self._setup.admission(command, is_first=command["isFirst"])
        self._limit(enclosure, admission)
        channels = self._setup.connect(command["enclosure"], command["token"])
        try:
            worker.admit(admission, channels)
        finally:
            for fd in channels:
                os.close(fd)
        pid = 0 if self._supply is None else worker.pid  # a subreaper's worker is not our child
        opened = OpenEnclosure(command["enclosure"], enclosure, pid, admission.memory_bytes)
        self._opened[opened.id] = opened
        self._by_pid1[enclosure.pid1] = opened
        self._by_lifeline[enclosure.lifeline] = opened
        self._epoll.register(enclosure.lifeline, select.EPOLLIN)
        place = {
            "pid1": enclosure.pid1,
            "worker": pid,
            "group": enclosure.group and enclosure.group.directories["memory"],
            "workspace": enclosure.workspace,
        }
        self._report({"event": "opened", "enclosure": opened.id, "uid": enclosure.uid, "place": place})
        return worker

    def _limit(self, enclosure: Enclosure, admission: Admission) -> None:
        if enclosure.group is not None:
            enclosure.group.set_memory(2 * admission.memory_bytes + CGROUP_SLACK)
            enclosure.group.set_processes(admission.processes)

    # Facts

    def _read_lifeline(self, fd: int) -> None:
        """Pass on what a pid 1 says: the answer to a command, or how a worker ended that is its child."""
        opened = self._by_lifeline[fd]
        try:
            message = os.read(fd, 65536)
        except OSError:
            message = b""
        if not message:
            self._epoll.unregister(fd)  # pid 1 is gone, and is reaped next
            del self._by_lifeline[fd]
            return
        fact = json.loads(message)
        if "exited" in fact:
            self._report_exit(opened, fact["status"])
        else:
            self._report({"event": "answer", "request": fact["request"], "problem": fact["problem"]})

    def _reap(self) -> None:
        for pid, status in reap():
            if pid == self._surveyor:
                self._surveyor = 0
                self._report({"event": "unsurveyed"})
            elif pid in self._by_worker:
                opened = self._by_worker.pop(pid)
                opened.worker = 0  # another process may get this number
                self._report_exit(opened, status)
            elif pid in self._by_pid1:
                self._remove(self._by_pid1.pop(pid))
            elif self._supply is not None:
                self._supply.remove(pid)

    def _report_exit(self, opened: OpenEnclosure, status: int) -> None:
        code = os.waitstatus_to_exitcode(status)
        self._report(
            {
                "event": "exited",
                "enclosure": opened.id,
                "code": code if code >= 0 else None,
                "signal": -code if code < 0 else None,
                "cause": self._cause_of(opened),
                "problem": self._join_problem(opened),
            }
        )

    def _cause_of(self, opened: OpenEnclosure) -> str | None:
        """Return why the kernel or the watch ended a worker, or None when the program ended by itself."""
        cause, opened.cause = opened.cause, None
        group = opened.walls.group
        if group is not None:
            try:
                kills = group.oom_kills()
            except OSError:  # out of descriptors, or the group is gone: the kernel's count is not to be had
                return cause
            if kills > opened.oom_kills:
                cause = cause or "memory"
            opened.oom_kills = kills
        return cause

    def _join_problem(self, opened: OpenEnclosure) -> str | None:
        """Return what a worker wrote that failed before its walls were closed."""
        worker, opened.walls.worker = opened.walls.worker, None
        return worker.failure_text() if worker is not None else None

    def _remove(self, opened: OpenEnclosure) -> None:
        """Clean up after a pid 1 that has ended. The kernel ended every process in its enclosure."""
        problem = self._join_problem(opened)
        cause = self._cause_of(opened) or problem
        if self._supply is None:
            end_orphans(set(self._by_pid1))
        self._by_worker.pop(opened.worker, None)
        del self._opened[opened.id]
        if self._by_lifeline.pop(opened.walls.lifeline, None) is not None:
            self._epoll.unregister(opened.walls.lifeline)
        opened.walls.close()
        self._report({"event": "gone", "enclosure": opened.id, "cause": cause})

    def _kill(self, opened: OpenEnclosure) -> None:
        """End an enclosure: by its lifeline where a subreaper has work to do first, otherwise at once."""
        if self._supply is None:
            with socket.socket(fileno=os.dup(opened.walls.lifeline)) as lifeline:
                lifeline.shutdown(socket.SHUT_RDWR)
            return
        try:
            os.kill(opened.walls.pid1, signal.SIGKILL)
        except ProcessLookupError:
            return  # already gone, and about to be reaped

    def _report(self, event: dict[str, object]) -> None:
        try:
            protocol.send(self._control, event)
        except OSError:
            self._end()

    def _end(self) -> NoReturn:
        """The host is gone, so all enclosures end."""
        for opened in self._opened.values():
            self._kill(opened)
        os._exit(0)
