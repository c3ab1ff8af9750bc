"""The zygote's loop: opens sessions, passes commands to their pid 1, reaps, and reports facts to the host."""

from __future__ import annotations

import json
import os
import select
import signal
import socket

from _vivarium import wire
from _vivarium.enclosure.builder import make_directories
from _vivarium.enclosure.subreaper import end_orphans
from _vivarium.record import Fields
from _vivarium.worker.join import Admission, WorkerSettings
from _vivarium.zygote.disk import DiskMeter
from _vivarium.zygote.setup import Setup
from _vivarium.zygote.supply import BuildFailed, Enclosure, Supply
from _vivarium.zygote.watch import Watch, WatchedEnclosure
from _vivarium.zygote.workers import ForkedWorker, fork_into, fork_with_subreaper

KILLED_BY_US = "closed"
CGROUP_SLACK = 128 << 20
OPEN_ATTEMPTS = 4


class OpenEnclosure(Fields):
    """A session as the zygote knows it: processes and facts, nothing that it computes."""

    id: str
    walls: Enclosure
    worker: int
    memory_bytes: int
    oom_kills: int = 0
    cause: str | None = None


class Server:
    """Owner of all sessions of one zygote."""

    def __init__(self, control: int, setup: Setup, supply: Supply | None) -> None:
        self._control = control
        self._setup = setup
        self._supply = supply
        self._own_pid_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self._opened: dict[str, OpenEnclosure] = {}
        self._by_worker: dict[int, OpenEnclosure] = {}
        self._by_pid1: dict[int, OpenEnclosure] = {}
        self._lifelines: dict[int, OpenEnclosure] = {}
        self._without_namespaces = 0
        self._has_proven_walls = False
        self._epoll = select.epoll()
        self._watch = Watch(self._overstepped)

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
            for fd, _ in self._epoll.poll(self._watch.next_tick_s()):
                if fd == wake_read:
                    os.read(wake_read, 4096)
                    continue
                forked = self._attend(fd)
                if forked is not None:
                    return forked
            self._reap()
            self._watch.tick()

    def _attend(self, fd: int) -> ForkedWorker | None:
        if fd == self._control:
            return self._handle_command()
        if self._supply is not None and fd == self._supply.fileno():
            return self._take_enclosure()
        if fd in self._lifelines:
            self._read_lifeline(fd)
        return None

    # Commands of the host

    def _handle_command(self) -> ForkedWorker | None:
        try:
            command = wire.receive(self._control)
        except wire.Closed:
            self._end()
        operation = command["op"]
        if operation == "open":
            return self._open(command)
        opened = self._opened.get(command["session"])
        if opened is None:
            self._handle_for_unknown(command)
        elif operation == "close":
            opened.cause = KILLED_BY_US
            self._kill(opened)
        elif operation in ("watch", "rest"):
            self._has_proven_walls = True  # code runs in it, so its worker has found its walls closed
            self._watch.add(self._watched(opened, command))
        elif operation == "oomed":
            problem = self._cause_of(opened)
            self._report({"event": "answer", "request": command["request"], "problem": problem})
        elif operation == "unwatch":
            self._watch.remove(opened.id)
        else:
            self._pass_on(opened, command)
        return None

    def _handle_for_unknown(self, command: dict) -> None:
        if "request" in command:
            self._report({"event": "answer", "request": command["request"], "problem": "no such session"})
        elif command["op"] == "close" and self._supply is not None and self._supply.cancel(command["session"]):
            self._report({"event": "gone", "session": command["session"], "cause": KILLED_BY_US})

    def _watched(self, opened: OpenEnclosure, command: dict) -> WatchedEnclosure:
        return WatchedEnclosure(
            session=opened.id,
            roots=lambda: (opened.worker, opened.walls.pid1),
            worker=command["worker"],
            dormant=frozenset(command["dormant"]),
            memory_bytes=opened.memory_bytes,
            cpu_s=command["cpuMs"] and command["cpuMs"] / 1000,
            disk=DiskMeter(f"{self._setup.sessions}/{opened.walls.workspace}", command["diskBytes"]),
            is_resting=command["op"] == "rest",
            busy_s=command["busyMs"] and command["busyMs"] / 1000,
            is_told=command["isTold"],
        )

    def _pass_on(self, opened: OpenEnclosure, command: dict) -> None:
        """`interrupt`, `sweep` and `wake` are for the enclosure's pid 1: pids mean something only there."""
        try:
            os.write(opened.walls.lifeline, json.dumps(command).encode())
        except OSError as error:
            self._report({"event": "answer", "request": command["request"], "problem": f"pid 1 is gone: {error}"})

    # Opening

    def _open(self, command: dict) -> ForkedWorker | None:
        if self._supply is None:
            return self._open_without_namespaces(command)
        enclosure = self._supply.claim(command)
        if enclosure is None:
            return None
        return self._launch(command, enclosure)

    def _take_enclosure(self) -> ForkedWorker | None:
        try:
            delivery = self._supply.receive()
        except BuildFailed as failure:
            self._report({"event": "failed", "session": failure.command["session"], "problem": str(failure)})
            return None
        except OSError:
            self._epoll.unregister(self._supply.fileno())
            self._supply.replace_builder()
            self._epoll.register(self._supply.fileno(), select.EPOLLIN)
            return None
        return self._fork_worker(*delivery) if delivery is not None else None

    def _fork_worker(self, command: dict | None, enclosure: Enclosure) -> ForkedWorker | None:
        """Fork a worker into a new enclosure, for the session that waits for it or for one to come."""
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
            self._release(enclosure)
        except OSError as error:  # the launcher was killed: another one comes
            enclosure.close()
            return self._open_again(command, f"launcher: {error.strerror}") if command is not None else None
        if command is not None:
            return self._launch(command, enclosure)
        self._supply.keep(enclosure)
        return None

    def _release(self, enclosure: Enclosure) -> None:
        """Let a worker prepare itself, once it is in its group."""
        worker = enclosure.worker
        if enclosure.group is None:
            worker.release()
            return
        try:
            self._supply.attach(enclosure.group, worker.pid, worker.go)  # moving a process takes milliseconds
        finally:
            os.close(worker.go)

    def _launch(self, command: dict, enclosure: Enclosure) -> ForkedWorker | None:
        """Give a waiting worker its session."""
        try:
            self._admit(command, enclosure)
        except OSError as error:  # it was killed meanwhile
            enclosure.close()
            return self._open_again(command, f"admission: {error.strerror}")
        self._by_worker[enclosure.worker.pid] = self._opened[command["session"]]
        self._supply.refill()
        return None

    def _open_again(self, command: dict, problem: str) -> ForkedWorker | None:
        """The enclosure was lost before its worker came: another one, unless that happens every time."""
        attempts = command.get("attempts", 0) + 1
        if attempts < OPEN_ATTEMPTS:
            return self._open({**command, "attempts": attempts})
        self._report({"event": "failed", "session": command["session"], "problem": problem})
        return None

    def _open_without_namespaces(self, command: dict) -> ForkedWorker | None:
        """No namespaces here: a guard takes the place of pid 1."""
        self._without_namespaces += 1
        workspace = command["workspace"] or f"{self._setup.instance}-{self._without_namespaces}"
        uid = command["uid"] or self._setup.uid_of(self._without_namespaces)
        make_directories(f"{self._setup.sessions}/{workspace}", uid if self._setup.privileged else None)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        group = None
        if self._setup.cgroups.kind != "none":
            group = self._setup.cgroups.create(
                f"vivarium-{self._setup.instance}-{self._without_namespaces}", memory_bytes=None, processes=None
            )
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
        """In a child: objects that own descriptors let go of them, or they would close what has their numbers later."""
        if self._supply is not None:
            self._supply.disown()
        self._epoll.close()

    def _worker_settings(self, enclosure: Enclosure) -> WorkerSettings:
        home = f"{self._setup.sessions}/{enclosure.workspace}"
        return self._setup.worker_settings(enclosure.uid, enclosure.namespaces, enclosure.group is not None, home)

    def _admit(self, command: dict, enclosure: Enclosure) -> None:
        """Hand a session to a worker. Fail closed: one whose limits cannot be set is never admitted."""
        admission = self._setup.admission(command, is_first=not self._has_proven_walls)
        self._limit(enclosure, admission)
        channels = self._setup.connect(command["session"], command["token"])
        try:
            enclosure.worker.admit(admission, channels)
        finally:
            for fd in channels:
                os.close(fd)
        is_without_namespaces = self._supply is None
        opened = OpenEnclosure(
            command["session"], enclosure, 0 if is_without_namespaces else enclosure.worker.pid, admission.memory_bytes
        )
        self._opened[opened.id] = opened
        self._by_pid1[enclosure.pid1] = opened
        self._lifelines[enclosure.lifeline] = opened
        self._epoll.register(enclosure.lifeline, select.EPOLLIN)
        self._report({"event": "opened", "session": opened.id, "workspace": enclosure.workspace, "uid": enclosure.uid})

    def _limit(self, enclosure: Enclosure, admission: Admission) -> None:
        if enclosure.group is not None:
            enclosure.group.set_memory(2 * admission.memory_bytes + CGROUP_SLACK)
            enclosure.group.set_processes(admission.processes)

    # Facts

    def _read_lifeline(self, fd: int) -> None:
        """A pid 1 answers a command, or tells how a worker ended that is its child."""
        opened = self._lifelines[fd]
        try:
            message = os.read(fd, 65536)
        except OSError:
            message = b""
        if not message:
            self._epoll.unregister(fd)  # pid 1 is gone: reaping it tells the rest
            del self._lifelines[fd]
            return
        fact = json.loads(message)
        if "exited" in fact:
            self._report_exit(opened, fact["status"])
        else:
            self._report({"event": "answer", "request": fact["request"], "problem": fact["problem"]})

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._by_worker:
                opened = self._by_worker.pop(pid)
                opened.worker = 0  # the number may come back as somebody else's
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
                "session": opened.id,
                "code": code if code >= 0 else None,
                "signal": -code if code < 0 else None,
                "cause": self._cause_of(opened),
                "problem": self._join_problem(opened),
            }
        )

    def _cause_of(self, opened: OpenEnclosure) -> str | None:
        """Why the kernel or the watch ended a worker; None when the program did it by itself."""
        cause, opened.cause = opened.cause, None
        group = opened.walls.group
        if group is not None:
            kills = group.oom_kills()
            if kills > opened.oom_kills:
                cause = cause or "memory"
            opened.oom_kills = kills
        return cause

    def _join_problem(self, opened: OpenEnclosure) -> str | None:
        """What a worker wrote that failed before its walls were closed."""
        worker, opened.walls.worker = opened.walls.worker, None
        return worker.failure_text() if worker is not None else None

    def _remove(self, opened: OpenEnclosure) -> None:
        """An enclosure's pid 1 is gone, and the kernel took every process in it along."""
        problem = self._join_problem(opened)
        cause = self._cause_of(opened) or problem
        if self._supply is None:
            end_orphans(set(self._by_pid1))
        self._watch.remove(opened.id)
        self._by_worker.pop(opened.worker, None)
        del self._opened[opened.id]
        if self._lifelines.pop(opened.walls.lifeline, None) is not None:
            self._epoll.unregister(opened.walls.lifeline)
        opened.walls.close()
        self._report({"event": "gone", "session": opened.id, "cause": cause})

    def _overstepped(self, session: str, cause: str, leftovers: int) -> None:
        """The watch saw a limit passed: the host is told and decides, as for a timeout."""
        if session in self._opened:
            self._report({"event": "overstepped", "session": session, "cause": cause, "leftovers": leftovers})

    def _kill(self, opened: OpenEnclosure) -> None:
        """End a session: by its lifeline where a guard has work to do first, else at once."""
        if self._supply is None:
            with socket.socket(fileno=os.dup(opened.walls.lifeline)) as lifeline:
                lifeline.shutdown(socket.SHUT_RDWR)
            return
        try:
            os.kill(opened.walls.pid1, signal.SIGKILL)
        except ProcessLookupError:
            return  # already gone; reaping it tells

    def _report(self, event: dict) -> None:
        try:
            wire.send(self._control, event)
        except OSError:
            self._end()

    def _end(self) -> None:
        """The host is gone: so are all sessions."""
        for opened in self._opened.values():
            self._kill(opened)
        os._exit(0)
