"""Pid 1 of an enclosure: reaps, signals on command, and dies with everything in it when its lifeline closes."""

from __future__ import annotations

# without enums, which would be copied into every pid 1
import _signal as signal  # type: ignore[import-not-found]
import errno
import json
import os
import select
import socket
import time
from collections.abc import Collection, Iterable, Iterator

from _vivarium.enclosure.command import start_command
from _vivarium.enclosure.family import descendants
from _vivarium.enclosure.lifeline import MAX_PID, Answer, CommandExit, Failure, Message, WorkerExit, encode
from _vivarium.enclosure.listeners import Listeners, hand_over
from _vivarium.worker.join import OOM_PREFERENCE, PRIVATE_FDS, Admission, WorkerSettings

# The longest that new processes may go on to appear, and that a process that was killed may take to end: the kernel
# holds up those that end or fork while many others do the same.
SWEEP_SECONDS = 2.0
END_SECONDS = 4.0
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE)


class Foreign(Exception):
    """A process that is not of the session."""


class Pid1:
    """The one trusted process inside the walls. It takes commands from its lifeline and nothing from the session."""

    def __init__(
        self,
        lifeline: socket.socket,
        pid_max: int,
        last_pid: int | None,
        ways_out: tuple[socket.socket, Listeners] | None = None,
        oom_score: int | None = None,
    ) -> None:
        self._lifeline = lifeline
        self._ways_out = ways_out
        self._oom_score = oom_score  # our own one, which what we fork inherits
        self._pid_max = pid_max
        self._last_pid = last_pid
        self._highest = 1
        self._worker = 0
        self._commands: dict[int, int] = {}  # pids of those that we have not reaped yet, by the number of the command

    def serve(self) -> None:
        """Reap and obey until the lifeline closes; never returns. What goes wrong ends the enclosure, with a reason."""
        try:
            self._serve()
        except BaseException as error:
            self._report(Failure(f"{type(error).__name__}: {error}"))
        finally:
            self._leave(1)  # whatever happens, nothing else is said on the lifeline

    def _serve(self) -> None:
        for number in IGNORED:  # Python's own handlers would let the session end its pid 1
            signal.signal(number, signal.SIG_IGN)
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(wake_read, False)
        signal.set_wakeup_fd(wake_write)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        poll = select.poll()
        poll.register(self._lifeline, select.POLLIN)
        poll.register(wake_read, select.POLLIN)
        if self._ways_out is not None:
            poll.register(self._ways_out[0], select.POLLIN)
        while True:
            self._reap()
            for fd, _ in poll.poll():
                if fd == wake_read:
                    os.read(wake_read, 4096)
                elif self._ways_out is not None and fd == self._ways_out[0].fileno():
                    hand_over(*self._ways_out)
                else:
                    self._handle_command()

    def _handle_command(self) -> None:
        message, fds, _, _ = socket.recv_fds(self._lifeline, 65536, PRIVATE_FDS)
        if not message:
            self._leave(0)
        command = json.loads(message)
        operation = command["op"]
        if operation == "interrupt":
            problem = self._signal(command["pid"], signal.SIGINT)
        elif operation == "sweep":
            problem = self._sweep(set(command["keep"]), spares=command["spares"])
        elif operation == "wake":
            self._worker = command["pid"]
            problem = self._sweep({command["pid"]}, set(command["dormant"]), spares=True) or self._signal(
                command["pid"], signal.SIGUSR1
            )
        elif operation == "exec":
            problem = self._start(command, fds)
        elif operation == "signal":
            problem = self._signal_command(command["command"], command["signal"])
        else:
            problem = f"unknown operation {operation}"
        self._report(Answer(command["request"], problem))

    def _signal(self, pid: int, number: int) -> str | None:
        if not 1 < pid <= MAX_PID:
            return f"{pid} is not a process of the session"
        try:
            self._send(pid, number)
        except Foreign:
            return f"{pid} is not a process of the session"
        except OSError as error:
            return f"process {pid}: {error.strerror}"
        return None

    def _send(self, pid: int, number: int) -> None:
        """Signal a process of the session. In its namespace, every number is one."""
        os.kill(pid, number)

    def _start(self, command: dict, fds: list[int]) -> str | None:
        """Start a command of the system."""
        try:
            settings, admission = WorkerSettings(**command["settings"]), Admission(**command["admission"])
            self._commands[command["command"]] = self._fork_command(fds, settings, admission)
        except OSError as error:
            return f"fork: {error.strerror}"
        finally:
            for fd in fds:
                os.close(fd)
        return None

    def _fork_command(self, fds: list[int], settings: WorkerSettings, admission: Admission) -> int:
        """Fork with the score of a worker for when memory runs out: a process in an enclosure cannot change its own."""
        if self._oom_score is None:
            return start_command(fds, settings, admission)
        usual = os.pread(self._oom_score, 16, 0).strip()
        os.pwrite(self._oom_score, OOM_PREFERENCE, 0)
        try:
            return start_command(fds, settings, admission)
        finally:
            os.pwrite(self._oom_score, usual, 0)

    def _signal_command(self, command: int, number: int) -> str | None:
        """Signal the processes of a command. Its number is its own until we have reaped it."""
        leader = self._commands.get(command)
        if leader is None:
            return "it has ended"
        if number == signal.SIGKILL:
            return self._end_session(leader)
        try:
            os.killpg(leader, number)
        except OSError as error:  # it is not the leader of its group yet
            return f"command {command}: {error.strerror}"
        return None

    def _end_session(self, leader: int) -> str | None:
        """End a command and what it has started: all below it, and all of its terminal session. A daemon is neither."""
        start = time.monotonic()
        known = [leader, *descendants(leader)]  # in this order, or it would see the others end
        while True:
            ending = [pid for pid in known if self._kill(pid) and not _has_ended(pid)]
            known = [pid for pid in self._processes(self._newest_pid()) if _session_of(pid) == leader]
            if not ending and all(_has_ended(pid) for pid in known):
                return None
            if time.monotonic() > start + END_SECONDS:
                return f"{len(ending)} processes could not be ended"
            time.sleep(0.0005)

    def _sweep(self, keep: set[int], dormant: Collection[int] = (), *, spares: bool = False) -> str | None:
        """End every process but pid 1 and `keep`, found by number: a process can hide from /proc, not from kill.

        Dormant processes do nothing once they were signalled, so only the others are waited for. With `spares`,
        commands go on afterwards with what they have started. Until then they are stopped: they would start more.
        """
        spared = set(self._commands.values()) if spares else set()
        held: set[int] = set()
        try:
            return self._sweep_others(keep, dormant, spared, held)
        finally:
            for pid in held:
                self._signal(pid, signal.SIGCONT)

    def _sweep_others(self, keep: set[int], dormant: Collection[int], spared: set[int], held: set[int]) -> str | None:
        start = time.monotonic()
        while True:
            newest = self._newest_pid()
            signalled = []
            for pid in self._processes(newest):
                if pid in keep:
                    continue
                if spared and _session_of(pid) in spared:
                    held.add(pid)
                    self._signal(pid, signal.SIGSTOP)
                elif self._kill(pid):
                    signalled.append(pid)
            left = [pid for pid in signalled if pid not in dormant and not _has_ended(pid)]
            self._reap()
            is_quiet = self._is_quiet(newest, keep.union(dormant, signalled, held))
            if not left and is_quiet:
                return None
            if not is_quiet and time.monotonic() > start + SWEEP_SECONDS:
                return "new processes came faster than they could be ended"
            if time.monotonic() > start + END_SECONDS:
                return f"{len(left)} processes could not be ended"
            time.sleep(0.0005)

    def _kill(self, pid: int) -> bool:
        """End a process; False if there is none."""
        return _kill(pid)

    def _processes(self, newest: int) -> Iterable[int]:
        """Every number that a process of this namespace can have."""
        return range(2, newest + 1)

    def _is_quiet(self, newest: int, known: set[int]) -> bool:
        """Whether nothing has been started since: a program can go on by forking itself and ending, again and again."""
        own = 0 if self._last_pid is not None else 1  # a look that hands out a number itself
        return newest == self._pid_max or self._newest_pid() == newest + own

    def _leave(self, status: int) -> None:
        os._exit(status)  # the kernel ends every other process of this pid namespace

    def _newest_pid(self) -> int:
        """The highest pid in use here: numbers are handed out upwards."""
        newest = int(os.pread(self._last_pid, 32, 0)) if self._last_pid is not None else self._next_pid()
        if newest < self._highest:  # the numbers wrapped around
            return self._pid_max
        self._highest = newest
        return newest

    def _next_pid(self) -> int:
        """Find the number that comes next by using it up, where the kernel does not report the last one."""
        try:
            child = os.fork()
        except OSError:  # a fork bomb holds every slot
            return self._pid_max
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return child

    def _reap(self) -> None:
        for pid, status in reap():
            if pid == self._worker:
                self._worker = 0
                self._report(WorkerExit(status))
                continue
            for command in [command for command, leader in self._commands.items() if leader == pid]:
                del self._commands[command]
                self._report(CommandExit(command, status))

    def _report(self, message: Message) -> None:
        try:
            self._lifeline.send(encode(message))
        except OSError:
            self._leave(0)


def reap() -> Iterator[tuple[int, int]]:
    """Collect the children that have ended, with their wait status."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, status


def _session_of(pid: int) -> int:
    """Return the terminal session of a process, which nobody else can join; 0 if there is no process."""
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def _kill(pid: int) -> bool:
    """End a process; False if there is none. A number can be that of a thread, whose process `kill` would end."""
    try:
        fd = os.pidfd_open(pid)
    except OSError as error:
        if error.errno in (errno.ESRCH, errno.EINVAL, errno.ENOENT):  # none, or a thread to older or newer kernels
            return False
        return _kill_by_number(pid)  # out of descriptors, for one
    try:
        signal.pidfd_send_signal(fd, signal.SIGKILL)
    except ProcessLookupError:
        return False
    finally:
        os.close(fd)
    return True


def _kill_by_number(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return False
    return True


def _has_ended(pid: int) -> bool:
    """Whether a process runs no more, even if its parent has not collected it yet."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return True
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        return bool(poll.poll(0))
    finally:
        os.close(fd)
