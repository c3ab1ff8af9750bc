"""The zygote's loop: opens sessions, passes commands to their pid 1, reaps, and reports facts to the host."""

from __future__ import annotations

import json
import os
import select
import signal
import socket

import wire
from birth import Born, fork_guarded, fork_into
from disk import DiskMeter
from enclosures import BuildFailed, Enclosure, Supply
from guard import end_orphans
from join import Admission, Birthplace
from launcher import make_directories
from record import Fields
from stage import Stage
from watch import Watch, Watched

KILLED_BY_US = "closed"
CGROUP_SLACK = 128 << 20
OPEN_ATTEMPTS = 4


class Record(Fields):
    """A session as the zygote knows it: processes and facts, nothing that it computes."""

    session: str
    enclosure: Enclosure
    worker: int
    memory_bytes: int
    oom_kills: int = 0
    cause: str | None = None


class Warden:
    """Owner of all sessions of one zygote."""

    def __init__(self, control: int, stage: Stage, supply: Supply | None) -> None:
        self._control = control
        self._stage = stage
        self._supply = supply
        self._own_pid_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self._sessions: dict[str, Record] = {}
        self._by_worker: dict[int, Record] = {}
        self._by_init: dict[int, Record] = {}
        self._lifelines: dict[int, Record] = {}
        self._guarded = 0
        self._has_proven_walls = False
        self._epoll = select.epoll()
        self._watch = Watch(self._overstepped)

    def serve(self) -> Born | None:
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
                born = self._attend(fd)
                if born is not None:
                    return born
            self._reap()
            self._watch.tick()

    def _attend(self, fd: int) -> Born | None:
        if fd == self._control:
            return self._obey()
        if self._supply is not None and fd == self._supply.fileno():
            return self._take_enclosure()
        if fd in self._lifelines:
            self._hear(fd)
        return None

    # Commands of the host

    def _obey(self) -> Born | None:
        try:
            command = wire.receive(self._control)
        except wire.Closed:
            self._end()
        operation = command["op"]
        if operation == "open":
            return self._open(command)
        record = self._sessions.get(command["session"])
        if record is None:
            self._obey_without_session(command)
        elif operation == "close":
            record.cause = KILLED_BY_US
            self._kill(record)
        elif operation in ("watch", "rest"):
            self._has_proven_walls = True  # code runs in it, so its worker has found its walls closed
            self._watch.add(self._watched(record, command))
        elif operation == "oomed":
            problem = self._cause_of(record)
            self._tell({"event": "answer", "request": command["request"], "problem": problem})
        elif operation == "unwatch":
            self._watch.remove(record.session)
        else:
            self._pass_on(record, command)
        return None

    def _obey_without_session(self, command: dict) -> None:
        if "request" in command:
            self._tell({"event": "answer", "request": command["request"], "problem": "no such session"})
        elif command["op"] == "close" and self._supply is not None and self._supply.cancel(command["session"]):
            self._tell({"event": "gone", "session": command["session"], "cause": KILLED_BY_US})

    def _watched(self, record: Record, command: dict) -> Watched:
        return Watched(
            session=record.session,
            roots=lambda: (record.worker, record.enclosure.init),
            worker=command["worker"],
            dormant=frozenset(command["dormant"]),
            memory_bytes=record.memory_bytes,
            cpu_s=command["cpuMs"] and command["cpuMs"] / 1000,
            disk=DiskMeter(f"{self._stage.sessions}/{record.enclosure.workspace}", command["diskBytes"]),
            is_resting=command["op"] == "rest",
            busy_s=command["busyMs"] and command["busyMs"] / 1000,
            is_told=command["isTold"],
        )

    def _pass_on(self, record: Record, command: dict) -> None:
        """`interrupt`, `sweep` and `wake` are for the enclosure's pid 1: pids mean something only there."""
        try:
            os.write(record.enclosure.lifeline, json.dumps(command).encode())
        except OSError as error:
            self._tell({"event": "answer", "request": command["request"], "problem": f"pid 1 is gone: {error}"})

    # Opening

    def _open(self, command: dict) -> Born | None:
        if self._supply is None:
            return self._open_guarded(command)
        enclosure = self._supply.claim(command)
        if enclosure is None:
            return None
        return self._launch(command, enclosure)

    def _take_enclosure(self) -> Born | None:
        try:
            delivery = self._supply.receive()
        except BuildFailed as failure:
            self._tell({"event": "failed", "session": failure.command["session"], "problem": str(failure)})
            return None
        except OSError:
            self._epoll.unregister(self._supply.fileno())
            self._supply.replace_launcher()
            self._epoll.register(self._supply.fileno(), select.EPOLLIN)
            return None
        return self._conceive(*delivery) if delivery is not None else None

    def _conceive(self, command: dict | None, enclosure: Enclosure) -> Born | None:
        """Fork a worker into a new enclosure, for the session that waits for it or for one to come."""
        try:
            worker = fork_into(self._birthplace(enclosure), self._own_pid_namespace, self._disown)
        except OSError as error:
            enclosure.close()
            return self._open_again(command, f"fork: {error.strerror}") if command is not None else None
        if isinstance(worker, Born):
            return worker
        for fd in enclosure.namespaces:
            os.close(fd)
        enclosure.namespaces, enclosure.worker = (), worker
        try:
            self._let_go(enclosure)
        except OSError as error:  # the launcher was killed: another one comes
            enclosure.close()
            return self._open_again(command, f"launcher: {error.strerror}") if command is not None else None
        if command is not None:
            return self._launch(command, enclosure)
        self._supply.keep(enclosure)
        return None

    def _let_go(self, enclosure: Enclosure) -> None:
        """Let a worker prepare itself, once it is in its group."""
        worker = enclosure.worker
        if enclosure.group is None:
            worker.let_go()
            return
        try:
            self._supply.attach(enclosure.group, worker.pid, worker.go)  # moving a process takes milliseconds
        finally:
            os.close(worker.go)

    def _launch(self, command: dict, enclosure: Enclosure) -> Born | None:
        """Give a waiting worker its session."""
        try:
            self._admit(command, enclosure)
        except OSError as error:  # it was killed meanwhile
            enclosure.close()
            return self._open_again(command, f"admission: {error.strerror}")
        self._by_worker[enclosure.worker.pid] = self._sessions[command["session"]]
        self._supply.refill()
        return None

    def _open_again(self, command: dict, problem: str) -> Born | None:
        """The enclosure was lost before its worker came: another one, unless that happens every time."""
        attempts = command.get("attempts", 0) + 1
        if attempts < OPEN_ATTEMPTS:
            return self._open({**command, "attempts": attempts})
        self._tell({"event": "failed", "session": command["session"], "problem": problem})
        return None

    def _open_guarded(self, command: dict) -> Born | None:
        """No namespaces here: a guard takes the place of pid 1."""
        self._guarded += 1
        workspace = command["workspace"] or f"{self._stage.instance}-{self._guarded}"
        uid = command["uid"] or self._stage.uid_of(self._guarded)
        make_directories(f"{self._stage.sessions}/{workspace}", uid if self._stage.privileged else None)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        group = None
        if self._stage.cgroups.kind != "none":
            group = self._stage.cgroups.create(f"vivarium-{self._stage.instance}-{self._guarded}", memory_bytes=None, processes=None)
        enclosure = Enclosure(0, workspace, uid, ours.detach(), (), group)
        worker = fork_guarded(theirs, self._birthplace(enclosure), self._disown)
        if isinstance(worker, Born):
            return worker
        theirs.close()
        enclosure.init, enclosure.worker = worker.pid, worker
        if group is not None:
            group.attach(worker.pid)
        worker.let_go()
        self._admit(command, enclosure)
        return None

    def _disown(self) -> None:
        """In a child: objects that own descriptors let go of them, or they would close what has their numbers later."""
        if self._supply is not None:
            self._supply.disown()
        self._epoll.close()

    def _birthplace(self, enclosure: Enclosure) -> Birthplace:
        home = f"{self._stage.sessions}/{enclosure.workspace}"
        return self._stage.birthplace(enclosure.uid, enclosure.namespaces, enclosure.group is not None, home)

    def _admit(self, command: dict, enclosure: Enclosure) -> None:
        """Hand a session to a worker. Fail closed: one whose limits cannot be set is never admitted."""
        admission = self._stage.admission(command, is_first=not self._has_proven_walls)
        self._limit(enclosure, admission)
        channels = self._stage.connect(command["session"], command["token"])
        try:
            enclosure.worker.admit(admission, channels)
        finally:
            for fd in channels:
                os.close(fd)
        is_guarded = self._supply is None
        record = Record(command["session"], enclosure, 0 if is_guarded else enclosure.worker.pid, admission.memory_bytes)
        self._sessions[record.session] = record
        self._by_init[enclosure.init] = record
        self._lifelines[enclosure.lifeline] = record
        self._epoll.register(enclosure.lifeline, select.EPOLLIN)
        self._tell({"event": "opened", "session": record.session, "workspace": enclosure.workspace, "uid": enclosure.uid})

    def _limit(self, enclosure: Enclosure, admission: Admission) -> None:
        if enclosure.group is not None:
            enclosure.group.set_memory(2 * admission.memory_bytes + CGROUP_SLACK)
            enclosure.group.set_processes(admission.processes)

    # Facts

    def _hear(self, fd: int) -> None:
        """A pid 1 answers a command, or tells how a worker ended that is its child."""
        record = self._lifelines[fd]
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
            self._tell_exit(record, fact["status"])
        else:
            self._tell({"event": "answer", "request": fact["request"], "problem": fact["problem"]})

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._by_worker:
                record = self._by_worker.pop(pid)
                record.worker = 0  # the number may come back as somebody else's
                self._tell_exit(record, status)
            elif pid in self._by_init:
                self._bury(self._by_init.pop(pid))
            elif self._supply is not None:
                self._supply.bury(pid)

    def _tell_exit(self, record: Record, status: int) -> None:
        code = os.waitstatus_to_exitcode(status)
        self._tell(
            {
                "event": "exited",
                "session": record.session,
                "code": code if code >= 0 else None,
                "signal": -code if code < 0 else None,
                "cause": self._cause_of(record),
                "problem": self._join_problem(record),
            }
        )

    def _cause_of(self, record: Record) -> str | None:
        """Why the kernel or the watch ended a worker; None when the program did it by itself."""
        cause, record.cause = record.cause, None
        group = record.enclosure.group
        if group is not None:
            kills = group.oom_kills()
            if kills > record.oom_kills:
                cause = cause or "memory"
            record.oom_kills = kills
        return cause

    def _join_problem(self, record: Record) -> str | None:
        """What a worker wrote that failed before its walls were closed."""
        worker, record.enclosure.worker = record.enclosure.worker, None
        return worker.last_words() if worker is not None else None

    def _bury(self, record: Record) -> None:
        """An enclosure's pid 1 is gone, and the kernel took every process in it along."""
        problem = self._join_problem(record)
        cause = self._cause_of(record) or problem
        if self._supply is None:
            end_orphans(set(self._by_init))
        self._watch.remove(record.session)
        self._by_worker.pop(record.worker, None)
        del self._sessions[record.session]
        if self._lifelines.pop(record.enclosure.lifeline, None) is not None:
            self._epoll.unregister(record.enclosure.lifeline)
        record.enclosure.close()
        self._tell({"event": "gone", "session": record.session, "cause": cause})

    def _overstepped(self, session: str, cause: str, leftovers: int) -> None:
        """The watch saw a limit passed: the host is told and decides, as for a timeout."""
        if session in self._sessions:
            self._tell({"event": "overstepped", "session": session, "cause": cause, "leftovers": leftovers})

    def _kill(self, record: Record) -> None:
        """End a session: by its lifeline where a guard has work to do first, else at once."""
        if self._supply is None:
            with socket.socket(fileno=os.dup(record.enclosure.lifeline)) as lifeline:
                lifeline.shutdown(socket.SHUT_RDWR)
            return
        try:
            os.kill(record.enclosure.init, signal.SIGKILL)
        except ProcessLookupError:
            return  # already gone; reaping it tells

    def _tell(self, event: dict) -> None:
        try:
            wire.send(self._control, event)
        except OSError:
            self._end()

    def _end(self) -> None:
        """The host is gone: so are all sessions."""
        for record in self._sessions.values():
            self._kill(record)
        os._exit(0)
