"""The zygote's loop: passes commands to the pid 1 of enclosures, opens new ones, reaps, and reports facts.

Openings come last and one step at a time, and nothing in the loop waits.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
from collections.abc import Callable

from _vivarium.channel import Channel
from _vivarium.enclosure import lifeline
from _vivarium.enclosure.host_socket import connect_worker
from _vivarium.enclosure.pid1 import reap
from _vivarium.enclosure.subreaper import end_orphans
from _vivarium.protocol import Closed
from _vivarium.values.hints import Any, NoReturn
from _vivarium.worker.processors import processor_variables
from _vivarium.zygote.openings import OpenEnclosure, Openings
from _vivarium.zygote.setup import Setup
from _vivarium.zygote.supply import Supply
from _vivarium.zygote.survey import spawn_surveyor
from _vivarium.zygote.workers import ForkedWorker

KILLED_BY_US = "closed"
MAX_PROBLEM = 300


class Server:
    """Owns all enclosures of one zygote. Whatever goes wrong with one of them stays its own."""

    def __init__(self, control: int, setup: Setup, supply: Supply | None, surveyor: int) -> None:
        self._host = Channel(control)
        self._setup = setup
        self._has_namespaces = supply is not None
        self._surveyor = surveyor
        self._opened: dict[str, OpenEnclosure] = {}
        self._by_worker: dict[int, OpenEnclosure] = {}
        self._by_pid1: dict[int, OpenEnclosure] = {}
        self._by_lifeline: dict[int, OpenEnclosure] = {}
        self._asked: dict[int, OpenEnclosure] = {}  # whose pid 1 was sent which request
        self._epoll = select.epoll()
        self._openings = Openings(setup, supply, self._epoll, self._add, self._report_failure)

    def serve(self) -> ForkedWorker | None:
        """Serve until the host is gone, or return in a child that has become a worker."""
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_read, False)
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._epoll.register(self._host.fileno(), select.EPOLLIN)
        self._epoll.register(wake_read, select.EPOLLIN)
        try:
            self._openings.start()
            while True:
                ready = {fd for fd, _ in self._epoll.poll(self._openings.next_s())}
                if wake_read in ready:
                    os.read(wake_read, 4096)
                forked = self._pass(ready)
                if forked is not None:
                    return forked
                self._epoll.modify(self._host.fileno(), self._host.events())
        except Closed:
            self._end()

    def _pass(self, ready: set[int]) -> ForkedWorker | None:
        """Serve everything that is there, then take one step with the openings."""
        if self._host.fileno() in ready:
            self._host.flush()
            for command in self._host.receive():
                self._contained(self._handle, command, give_up=self._give_up_command)
        for fd in ready & self._by_lifeline.keys():
            self._contained(self._read_lifeline, self._by_lifeline[fd], give_up=self._give_up)
        for pid, status in reap():
            self._contained(self._bury, pid, status, give_up=self._give_up_process)
        return self._contained(self._openings.step, give_up=self._openings.give_up)

    def _contained(self, serve: Callable[..., Any], *about: Any, give_up: Callable[..., None]) -> Any:
        """Do one thing. What it raises costs at most the enclosure that it is about, since all others depend on us."""
        try:
            return serve(*about)
        except Closed:
            raise
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"[:MAX_PROBLEM]
        try:
            give_up(*about, problem)
        except Closed:
            raise
        except Exception:  # for one, its pid 1 cannot be signalled: it is gone, and reaped next
            return None
        return None

    def _give_up(self, opened: OpenEnclosure, problem: str) -> None:
        """End an enclosure that could not be served. The first problem is told when its pid 1 has been reaped."""
        opened.failure = opened.failure or problem
        self._kill(opened)

    def _give_up_command(self, command: dict[str, Any], problem: str) -> None:
        """End the enclosure that a command is about, and answer the caller that waits for it."""
        if "request" in command:
            self._report({"event": "answer", "request": command["request"], "problem": problem})
        opened = self._opened.get(command.get("enclosure", ""))
        if opened is not None:
            self._give_up(opened, problem)

    def _give_up_process(self, pid: int, status: int, problem: str) -> None:
        """Report the end of a process of which more cannot be found out."""
        if pid in self._by_pid1:
            opened = self._by_pid1.pop(pid)
            self._forget(opened, opened.failure or problem)

    # Commands of the host

    def _handle(self, command: dict[str, Any]) -> None:
        operation = command["op"]
        if operation == "survey":
            self._replace_surveyor(command["token"])
            return
        opened = self._opened.get(command["enclosure"])
        if operation == "open":
            self._openings.add(command)
        elif opened is None:
            self._handle_for_unknown(command)
        elif operation == "close":
            opened.cause = KILLED_BY_US
            self._kill(opened)
        elif operation == "exec":
            self._start_command(opened, command)
        elif operation == "oomed":
            problem = self._cause_of(opened)
            self._report({"event": "answer", "request": command["request"], "problem": problem})
        else:
            self._pass_on(opened, command)

    def _handle_for_unknown(self, command: dict[str, Any]) -> None:
        if "request" in command:
            self._report({"event": "answer", "request": command["request"], "problem": "no such enclosure"})
        elif command["op"] == "close" and self._openings.cancel(command["enclosure"]):
            self._report({"event": "gone", "enclosure": command["enclosure"], "cause": KILLED_BY_US})

    def _pass_on(self, opened: OpenEnclosure, command: dict[str, Any]) -> None:
        """Send `interrupt`, `sweep` or `wake` to pid 1, because pids mean something only in its namespace."""
        request = command["request"]
        try:
            os.write(opened.walls.lifeline, json.dumps(command).encode())
        except OSError as error:
            self._report({"event": "answer", "request": request, "problem": f"pid 1 does not listen: {error}"})
            return
        self._asked[request] = opened
        opened.reportable += command["op"] == "wake"

    def _start_command(self, opened: OpenEnclosure, command: dict[str, Any]) -> None:
        """Have pid 1 start a command of the system, connected to the host, which tells it alone what to execute."""
        request, admission = command["request"], opened.admission
        if admission is None:
            raise ValueError("an enclosure without a session")
        settings = self._openings.worker_settings(opened.walls)
        environment = {**settings.environment, **processor_variables(admission)}
        settings = settings.replaced(environment=environment, namespaces=())
        own = {"settings": vars(settings), "admission": vars(admission.replaced(is_first=False))}
        lifeline_end = socket.socket(fileno=opened.walls.lifeline)
        fds: list[int] = []
        try:
            _, fds = connect_worker(self._setup.socket, command["ticket"])
            socket.send_fds(lifeline_end, [json.dumps({**command, **own}).encode()], fds)
        except OSError as error:
            self._report({"event": "answer", "request": request, "problem": f"it could not be started: {error}"})
            return
        finally:
            lifeline_end.detach()
            for fd in fds:
                os.close(fd)
        self._asked[request] = opened
        opened.commands |= {command["command"]}

    def _replace_surveyor(self, token: str) -> None:
        """Start another surveyor. The host asks for it, so that both know where in their channel it begins."""
        try:
            if self._surveyor:
                os.kill(self._surveyor, signal.SIGKILL)
            self._surveyor = spawn_surveyor(self._setup, token.encode())
        except OSError:  # no process to be had at the moment: the host asks again
            self._report({"event": "unsurveyed"})

    # Facts

    def _add(self, opened: OpenEnclosure) -> None:
        """A session has been admitted to its enclosure."""
        walls = opened.walls
        self._epoll.register(walls.lifeline, select.EPOLLIN)  # which can fail, so it comes first
        self._opened[opened.id] = opened
        self._by_pid1[walls.pid1] = opened
        if opened.worker:
            self._by_worker[opened.worker] = opened
        self._by_lifeline[walls.lifeline] = opened
        if walls.ticket:  # else its subreaper will send it
            self._report_opened(opened)

    def _report_opened(self, opened: OpenEnclosure) -> None:
        walls = opened.walls
        place = {
            "pid1": walls.pid1,
            "worker": opened.worker,
            "group": walls.group and walls.group.directories["memory"],
            "workspace": walls.workspace,
        }
        facts = {"enclosure": opened.id, "uid": walls.uid, "ticket": walls.ticket, "place": place}
        self._report({"event": "opened", **facts})

    def _read_lifeline(self, opened: OpenEnclosure) -> None:
        """Pass on everything that a pid 1 has said. If it says anything unexpected, its enclosure ends."""
        fd = opened.walls.lifeline
        while fd in self._by_lifeline:
            try:
                data = os.read(fd, lifeline.MAX_MESSAGE + 1)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._hang_up(opened)
            elif opened.failure is None:  # else it is being ended, and what it says does not count any more
                try:
                    self._hear(opened, lifeline.decode(data))
                except lifeline.Unexpected as unexpected:
                    self._give_up(opened, f"its pid 1 broke the protocol: {unexpected}")

    def _hang_up(self, opened: OpenEnclosure) -> None:
        """A pid 1 is gone, and is reaped next. One that is still there has said nothing at all, and has to go."""
        del self._by_lifeline[opened.walls.lifeline]
        self._epoll.unregister(opened.walls.lifeline)
        if opened.is_leaving:  # it was we who hung up, and a subreaper has to sweep before it ends
            return
        try:
            os.kill(opened.walls.pid1, signal.SIGKILL)
        except ProcessLookupError:
            return

    def _hear(self, opened: OpenEnclosure, message: lifeline.Message) -> None:
        """Pass on the answer to a command of this enclosure, or how a worker ended that is a child of its pid 1."""
        if isinstance(message, lifeline.Failure):
            self._give_up(opened, f"its pid 1 failed: {message.failure}")
        elif isinstance(message, lifeline.WorkerExit):
            if opened.reportable == 0:
                raise lifeline.Unexpected("the end of a worker that it does not have")
            opened.reportable -= 1
            self._report_exit(opened, message.status)
        elif isinstance(message, lifeline.CommandExit):
            if message.command not in opened.commands:
                raise lifeline.Unexpected("the end of a command that it does not have")
            opened.commands -= {message.command}
            self._report_command(opened, message)
        elif isinstance(message, lifeline.Ticket):
            if opened.walls.ticket:
                raise lifeline.Unexpected("a second ticket")
            opened.walls.ticket = message.ticket
            self._report_opened(opened)
        elif self._asked.get(message.request) is not opened:
            raise lifeline.Unexpected("an answer that nobody has asked for")
        else:
            del self._asked[message.request]
            self._report({"event": "answer", "request": message.request, "problem": message.problem})

    def _bury(self, pid: int, status: int) -> None:
        """Draw the consequences of a process that has ended."""
        if pid == self._surveyor:
            self._surveyor = 0
            self._report({"event": "unsurveyed"})
        elif pid in self._by_worker:
            opened = self._by_worker.pop(pid)
            opened.worker = 0  # another process may get this number
            self._openings.remove(pid)
            self._hear_out(opened)
            if opened.failure is None:  # else all of it ends, and the reason is told with that
                self._report_exit(opened, status)
        elif pid in self._by_pid1:
            opened = self._by_pid1[pid]
            self._hear_out(opened)
            cause = self._join_problem(opened)
            cause = opened.failure or self._cause_of(opened) or cause
            if not self._has_namespaces:
                end_orphans({self._surveyor, *self._by_pid1})
            del self._by_pid1[pid]
            self._forget(opened, cause)
        else:
            self._openings.remove(pid)
            if not self._has_namespaces:  # an orphan of a subreaper that was killed: its children are ours now
                end_orphans({self._surveyor, *self._by_pid1})

    def _hear_out(self, opened: OpenEnclosure) -> None:
        """Read what a pid 1 said before a process of its enclosure ended: it may be the reason."""
        self._contained(self._read_lifeline, opened, give_up=self._give_up)

    def _forget(self, opened: OpenEnclosure, cause: str | None) -> None:
        """Clean up after a pid 1 that has ended. The kernel ended every process in its enclosure."""
        self._by_worker.pop(opened.worker, None)
        del self._opened[opened.id]
        self._asked = {request: asked for request, asked in self._asked.items() if asked is not opened}
        self._report({"event": "gone", "enclosure": opened.id, "cause": cause})
        if self._by_lifeline.pop(opened.walls.lifeline, None) is not None:
            self._epoll.unregister(opened.walls.lifeline)
        self._openings.discard(opened.walls)

    def _report_exit(self, opened: OpenEnclosure, status: int) -> None:
        self._report(
            {
                "event": "exited",
                "enclosure": opened.id,
                **_end_of(status),
                "cause": self._cause_of(opened),
                "problem": self._join_problem(opened),
            }
        )

    def _report_command(self, opened: OpenEnclosure, exit: lifeline.CommandExit) -> None:
        end = _end_of(exit.status)
        # Otherwise the next worker that ends would be taken for the one that the kernel has killed.
        cause = self._cause_of(opened) if end["signal"] == signal.SIGKILL else None
        self._report({"event": "ended", "enclosure": opened.id, "command": exit.command, **end, "cause": cause})

    def _cause_of(self, opened: OpenEnclosure) -> str | None:
        """Return why the kernel or the watch ended a worker, or None when the program ended by itself."""
        cause, opened.cause = opened.cause, None
        group = opened.walls.group
        if group is not None:
            try:
                kills = group.oom_kills()
            except (OSError, ValueError):  # out of descriptors, or the group is gone: there is no count
                return cause
            if kills > opened.oom_kills:
                cause = cause or "memory"
            opened.oom_kills = kills
        return cause

    def _join_problem(self, opened: OpenEnclosure) -> str | None:
        """Return what a worker wrote that failed before its walls were closed."""
        worker, opened.walls.worker = opened.walls.worker, None
        return worker.failure_text() if worker is not None else None

    def _kill(self, opened: OpenEnclosure) -> None:
        """End an enclosure: by its lifeline where a subreaper has work to do first, otherwise at once."""
        if self._has_namespaces:
            try:
                os.kill(opened.walls.pid1, signal.SIGKILL)
            except ProcessLookupError:
                return  # already gone, and about to be reaped
            return
        opened.is_leaving = True
        lifeline = socket.socket(fileno=opened.walls.lifeline)
        try:
            lifeline.shutdown(socket.SHUT_RDWR)
        finally:
            lifeline.detach()
        os.kill(opened.walls.pid1, signal.SIGCONT)  # one that was stopped would not see that its lifeline closed

    def _report_failure(self, enclosure: str, problem: str) -> None:
        self._report({"event": "failed", "enclosure": enclosure, "problem": problem[:MAX_PROBLEM]})

    def _report(self, event: dict[str, object]) -> None:
        self._host.send(event)

    def _end(self) -> NoReturn:
        """The host is gone, so all enclosures end."""
        for opened in self._opened.values():
            self._contained(self._kill, opened, give_up=lambda *_: None)
        os._exit(0)


def _end_of(status: int) -> dict[str, int | None]:
    """Return what a wait status says."""
    code = os.waitstatus_to_exitcode(status)
    return {"code": code if code >= 0 else None, "signal": -code if code < 0 else None}
