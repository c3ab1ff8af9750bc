"""The zygote's loop: opens sessions, passes commands to their pid 1, reaps, and reports facts to the host."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

import launcher
import wire
from confine import cgroup, kernel
from join import Admission, join
from stage import Stage
from watch import Watch, Watched

KILLED_BY_US = "closed"
EXIT_NOT_JOINED = 113


@dataclass
class Enclosure:
    """Walls that wait for a worker."""

    init: int
    workspace: str
    uid: int
    lifeline: socket.socket
    namespaces: tuple[int, ...]
    group: cgroup.Group | None


@dataclass
class Record:
    """A session as the zygote knows it: processes and facts, nothing that it computes."""

    session: str
    enclosure: Enclosure
    worker: int
    status: int
    memory_bytes: int
    oom_kills: int = 0
    cause: str | None = None


@dataclass(frozen=True)
class Born:
    """What the forked child returns with instead of the loop's end."""

    control: int
    admission: Admission


class Warden:
    """Owner of all sessions of one zygote."""

    def __init__(self, control: int, stage: Stage, launcher_channel: Callable[[], tuple[socket.socket, int]]) -> None:
        self._control = control
        self._stage = stage
        self._start_launcher = launcher_channel
        self._launcher, self._launcher_pid = launcher_channel()
        self._own_pid_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self._sessions: dict[str, Record] = {}
        self._by_worker: dict[int, Record] = {}
        self._by_init: dict[int, Record] = {}
        self._ready: deque[Enclosure] = deque()
        self._building: dict[str, dict | None] = {}
        self._requests: dict[str, dict] = {}
        self._built = 0
        self._epoll = select.epoll()
        self._lifelines: dict[int, Record] = {}
        self._watch = Watch(self._overstepped)

    def serve(self) -> Born | None:
        """Serve until the host is gone (None), or return in a child that has become a worker."""
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_read, False)
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for fd in (self._control, wake_read, self._launcher.fileno()):
            self._epoll.register(fd, select.EPOLLIN)
        self._refill()
        while True:
            for fd, _ in self._epoll.poll(self._watch.next_tick_s()):
                if fd == self._control:
                    born = self._obey()
                elif fd == self._launcher.fileno():
                    born = self._take_enclosure()
                elif fd == wake_read:
                    os.read(wake_read, 4096)
                    born = None
                else:
                    born = self._hear(fd)
                if born is not None:
                    return born
            self._reap()
            self._watch.tick()

    # Commands of the host

    def _obey(self) -> Born | None:
        try:
            command, _ = wire.receive(self._control)
        except wire.Closed:
            self._end()
        operation = command["op"]
        if operation == "open":
            return self._open(command)
        record = self._sessions.get(command["session"])
        if record is None:
            if "request" in command:
                self._tell({"event": "answer", "request": command["request"], "problem": "no such session"})
        elif operation == "close":
            record.cause = KILLED_BY_US
            self._kill(record)
        elif operation == "watch":
            self._watch.add(self._watched(record, command))
        elif operation == "unwatch":
            self._watch.remove(record.session)
        else:
            self._pass_on(record, command)
        return None

    def _watched(self, record: Record, command: dict) -> Watched:
        return Watched(
            session=record.session,
            roots=(record.worker, record.enclosure.init),
            dormant=frozenset(command["dormant"]),
            memory_bytes=record.memory_bytes,
            cpu_s=command["cpuMs"] and command["cpuMs"] / 1000,
            workspace=f"{self._stage.sessions}/{record.enclosure.workspace}/workspace",
            workspace_bytes=command["workspaceBytes"],
        )

    def _pass_on(self, record: Record, command: dict) -> None:
        """`interrupt`, `sweep` and `wake` are for the enclosure's pid 1: pids mean something only there."""
        try:
            record.enclosure.lifeline.send(json.dumps(command).encode())
        except OSError as error:
            self._tell({"event": "answer", "request": command["request"], "problem": f"pid 1 is gone: {error}"})

    def _open(self, command: dict) -> Born | None:
        is_plain = not command["mounts"] and not command["network"] and command["workspace"] is None
        if is_plain and self._ready:
            enclosure = self._ready.popleft()
            self._refill()
            return self._launch(command, enclosure)
        self._request_enclosure(command)
        return None

    # Enclosures

    def _refill(self) -> None:
        while len(self._ready) + sum(1 for command in self._building.values() if command is None) < self._stage.ahead:
            self._request_enclosure(None)

    def _request_enclosure(self, command: dict | None) -> None:
        self._built += 1
        name = f"{self._stage.instance}-{self._built}"
        request = {
            "id": name,
            "workspace": (command and command["workspace"]) or name,
            "uid": (command and command["uid"]) or self._stage.first_uid + self._built,
            "mounts": [{**mount, "source": self._stage.host + mount["source"]} for mount in command["mounts"]] if command else [],
            "network": bool(command and command["network"]),
        }
        self._building[name] = command
        self._requests[name] = request
        try:
            self._launcher.send(json.dumps(request).encode())
        except OSError:
            return  # the launcher has just died: its successor is given every open request

    def _take_enclosure(self) -> Born | None:
        try:
            message, fds, _, _ = socket.recv_fds(self._launcher, 1 << 20, 16)
        except OSError:
            message, fds = b"", []
        if not message:
            self._replace_launcher()
            return None
        answer = json.loads(message)
        command = self._building.pop(answer["id"])
        del self._requests[answer["id"]]
        if "error" in answer:
            if command is not None:
                self._tell({"event": "failed", "session": command["session"], "problem": answer["error"]})
            return None
        lifeline = socket.socket(fileno=fds[0])
        group = cgroup.Group(self._stage.cgroups.kind, answer["group"]) if answer["group"] else None
        enclosure = Enclosure(answer["init"], answer["workspace"], answer["uid"], lifeline, tuple(fds[1:]), group)
        if command is None:
            self._ready.append(enclosure)
            return None
        return self._launch(command, enclosure)

    def _replace_launcher(self) -> None:
        self._epoll.unregister(self._launcher.fileno())
        self._launcher.close()
        self._launcher, self._launcher_pid = self._start_launcher()
        self._epoll.register(self._launcher.fileno(), select.EPOLLIN)
        for request in self._requests.values():
            self._launcher.send(json.dumps(request).encode())

    # Workers

    def _launch(self, command: dict, enclosure: Enclosure) -> Born | None:
        """Fork once, straight into the enclosure's pid namespace."""
        home = f"{self._stage.sessions}/{enclosure.workspace}"
        admission = self._stage.admission(command, enclosure.uid, enclosure.namespaces, enclosure.group is not None, home)
        go_read, go_write = os.pipe()
        status_read, status_write = os.pipe()
        kernel.setns(enclosure.namespaces[0])
        try:
            worker = os.fork()
        except OSError as error:
            worker, problem = -1, f"fork: {error.strerror}"
        if worker == 0:
            return _be_born(admission, go_read, status_write)
        kernel.setns(self._own_pid_namespace)
        os.close(go_read)
        os.close(status_write)
        for fd in enclosure.namespaces:
            os.close(fd)
        if worker < 0:
            for fd in (go_write, status_read):
                os.close(fd)
            enclosure.lifeline.close()  # its pid 1 ends with it
            self._tell({"event": "failed", "session": command["session"], "problem": problem})
            return None
        record = Record(command["session"], replace(enclosure, namespaces=()), worker, status_read, admission.memory_bytes)
        self._add(record)
        if self._attach_limits(record, admission):
            os.write(go_write, b"g")
        os.close(go_write)
        self._tell({"event": "opened", "session": record.session, "workspace": enclosure.workspace, "uid": enclosure.uid})
        return None

    def _add(self, record: Record) -> None:
        fd = record.enclosure.lifeline.fileno()
        self._sessions[record.session] = record
        self._by_worker[record.worker] = record
        self._by_init[record.enclosure.init] = record
        self._lifelines[fd] = record
        self._epoll.register(fd, select.EPOLLIN)

    def _attach_limits(self, record: Record, admission: Admission) -> bool:
        """Fail closed: a worker whose limits cannot be attached never gets its go."""
        group = record.enclosure.group
        if group is None:
            return True
        try:
            group.set_memory(2 * admission.memory_bytes + (128 << 20))
            group.set_processes(admission.processes + 8)
            group.attach(record.worker)
        except OSError as error:
            record.cause = f"cgroup: {error}"
            return False
        return True

    def _hear(self, fd: int) -> None:
        """A pid 1 answers a command, or tells how a promoted worker ended."""
        record = self._lifelines[fd]
        try:
            message = record.enclosure.lifeline.recv(65536)
        except OSError:
            message = b""
        if not message:
            self._epoll.unregister(fd)  # pid 1 is gone: reaping it tells the rest
            del self._lifelines[fd]
            return
        fact = json.loads(message)
        if "exited" in fact:
            self._tell_exit(record, fact["exited"], fact["status"])
        else:
            self._tell({"event": "answer", "request": fact["request"], "problem": fact["problem"]})

    # Facts

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
                self._tell_exit(record, 0, status)
            elif pid in self._by_init:
                self._bury(self._by_init.pop(pid))

    def _tell_exit(self, record: Record, pid: int, status: int) -> None:
        code = os.waitstatus_to_exitcode(status)
        self._tell(
            {
                "event": "exited",
                "session": record.session,
                "pid": pid,
                "code": code if code >= 0 else None,
                "signal": -code if code < 0 else None,
                "cause": self._cause_of(record),
                "problem": self._join_problem(record) if pid == 0 else None,
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
        if record.status < 0:
            return None
        text = os.read(record.status, 4096).decode("utf-8", "replace")
        os.close(record.status)
        record.status = -1
        return text or None

    def _bury(self, record: Record) -> None:
        """An enclosure's pid 1 is gone, and the kernel took every process in it along."""
        cause = self._cause_of(record)
        self._watch.remove(record.session)
        self._by_worker.pop(record.worker, None)
        del self._sessions[record.session]
        fd = record.enclosure.lifeline.fileno()
        if self._lifelines.pop(fd, None) is not None:
            self._epoll.unregister(fd)
        record.enclosure.lifeline.close()
        self._join_problem(record)
        if record.enclosure.group is not None:
            record.enclosure.group.remove()
        self._tell({"event": "gone", "session": record.session, "cause": cause})

    def _overstepped(self, session: str, cause: str) -> None:
        """The watch saw a limit passed: the host is told and decides, as for a timeout."""
        record = self._sessions.get(session)
        if record is not None:
            record.cause = cause
            self._tell({"event": "overstepped", "session": session, "cause": cause})

    def _kill(self, record: Record) -> None:
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


def _be_born(admission: Admission, go: int, status: int) -> Born:
    """In the child: close the walls or die saying why."""
    try:
        control = join(admission, go, status)
        os.close(status)
        return Born(control, replace(admission, token="", namespaces=()))
    except BaseException as error:  # noqa: BLE001 - whatever it was, nothing may run after it
        os.write(status, f"{type(error).__name__}: {error}".encode()[:4096])
        os._exit(EXIT_NOT_JOINED)


def spawn_launcher(site: launcher.Site) -> tuple[socket.socket, int]:
    """Fork the launcher; our end of the channel and its pid."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        kernel.close_fds_except([theirs.fileno()])
        launcher.serve(theirs, site)
    theirs.close()
    return ours, pid
