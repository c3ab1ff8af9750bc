"""The supply of enclosures: some are ready ahead of time, special ones are built when a session asks for them."""

from __future__ import annotations

import gc
import itertools
import json
import os
import signal
import socket
import time
from collections import deque

from _vivarium.confine import cgroup, kernel
from _vivarium.enclosure import builder
from _vivarium.record import Fields
from _vivarium.worker.join import PRIVATE_FDS
from _vivarium.zygote.setup import Setup
from _vivarium.zygote.workers import WaitingWorker

CANCELLED: dict = {}
RETRY_S = 0.02


class Enclosure(Fields):
    """Walls with a worker that waits for its session. Descriptors are numbers: objects would close them in a fork."""

    pid1: int
    workspace: str
    uid: int
    lifeline: int
    namespaces: tuple[int, ...]
    group: cgroup.Group | None
    ticket: str = ""  # by which the host knows the connections of the worker
    channels: tuple[int, ...] = ()  # these connections, until the worker has them
    worker: WaitingWorker | None = None
    processors: tuple[int, ...] = ()  # that it is held to

    def close(self) -> None:
        """Close the lifeline, which ends pid 1 and with it every process inside."""
        os.close(self.lifeline)
        if self.worker is not None:
            os.close(self.worker.channel)
        for fd in (*self.namespaces, *self.channels):
            os.close(fd)


class BuildFailed(Exception):
    """An enclosure that a session waits for could not be built. The text says why."""

    def __init__(self, command: dict, problem: str) -> None:
        super().__init__(problem)
        self.command = command


class Order(Fields):
    """Something that the builder has not done yet, with a descriptor that goes with it."""

    message: dict
    fd: int | None = None


class Supply:
    """Talks to the builder, and replaces it when it is gone. Its successor gets every order that is still open."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._build_settings = setup.build_settings()
        self._channel: socket.socket | None = None
        self._orders: dict[int, Order] = {}
        self._unsent: deque[int] = deque()
        self._ready: deque[Enclosure] = deque()
        self._waiting: dict[int, dict | None] = {}
        self._count = 0
        self._numbers = itertools.count(1)
        self._retry_at = 0.0
        self.builder = 0
        self._start_builder()

    def fileno(self) -> int:
        """Return the descriptor to wait on, or -1 while there is no builder."""
        return self._channel.fileno() if self._channel is not None else -1

    def next_s(self) -> float | None:
        """Return how long to wait until `resume` has something to do, or None."""
        if self._channel is None or self._unsent:
            return max(0.0, self._retry_at - time.monotonic())
        return None

    def resume(self) -> None:
        """Go on with what could not be done at once: start a builder, or send it what it had no room for."""
        if self._channel is None and time.monotonic() >= self._retry_at:
            self._start_builder()
        self._send()

    def claim(self, command: dict) -> Enclosure | None:
        """Return a ready enclosure if one fits. Otherwise one is on its way."""
        is_plain = not any(command[what] for what in ("hasMounts", "network", "listed", "readOnly", "workspace"))
        is_plain = is_plain and not self._needs_own_group(command)
        if is_plain and self._ready:
            return self._ready.popleft()
        promised = (
            next((number for number, waiting in self._waiting.items() if waiting is None), None) if is_plain else None
        )
        if promised is None:
            self._request(command)
        else:
            self._waiting[promised] = command  # under construction already
        return None

    def cancel(self, enclosure: str) -> bool:
        """Cancel an order. Returns whether it was still open."""
        for number, command in self._waiting.items():
            if command and command["enclosure"] == enclosure:  # neither an order ahead of time nor a cancelled one
                self._waiting[number] = CANCELLED
                return True
        return False

    def refill(self, least: int = 0) -> None:
        """Order enclosures ahead of time."""
        wanted = max(least, self._setup.ahead)
        while len(self._ready) + sum(command is None for command in self._waiting.values()) < wanted:
            self._request(None)

    def receive(self) -> tuple[dict | None, Enclosure] | None:
        """Take one answer of the builder. Returns what it has built, and the command that waits for it, if any."""
        if self._channel is None:
            return None
        try:
            message, fds, _, _ = socket.recv_fds(self._channel, 1 << 20, 16)
        except BlockingIOError:
            return None
        if not message:
            raise ConnectionError("the builder is gone")
        answer = json.loads(message)
        order = self._orders.pop(answer["number"], None)
        if order is None or "build" not in order.message:
            self._let_go(order)
            return None
        return self._built(answer, fds)

    def _built(self, answer: dict, fds: list[int]) -> tuple[dict | None, Enclosure] | None:
        command = self._waiting.pop(answer["number"])
        if "error" in answer:
            if command is not None and command is not CANCELLED:
                raise BuildFailed(command, answer["error"])
            return None  # an order ahead of time is not repeated: the next session that needs one gets the reason
        group = cgroup.Group(self._setup.cgroups.kind, answer["group"]) if answer["group"] else None
        os.set_blocking(fds[0], False)
        place = (answer["pid1"], answer["workspace"], answer["uid"])
        channels, namespaces = tuple(fds[1 : 1 + PRIVATE_FDS]), tuple(fds[1 + PRIVATE_FDS :])
        enclosure = Enclosure(*place, fds[0], namespaces, group, answer["ticket"], channels)
        if command is CANCELLED:
            self.discard(enclosure)
            return None
        return command, enclosure

    def keep(self, enclosure: Enclosure) -> None:
        """Keep an enclosure for the next session."""
        self._ready.append(enclosure)

    def discard(self, enclosure: Enclosure) -> None:
        """End an enclosure, and have its control group removed when the kernel lets go of it."""
        enclosure.close()
        if enclosure.worker is not None:
            self.remove(enclosure.worker.pid)
        if enclosure.group is not None:
            self._order(Order({"remove": enclosure.group.directories}))

    def disown(self) -> None:
        """In a child of the zygote: detach from the channel."""
        if self._channel is not None:
            self._channel.detach()

    def attach(self, group: cgroup.Group, pid: int, go: int) -> None:
        """Have the builder move a process into its group and let it go on. That takes time, and the zygote has none."""
        self._order(Order({"attach": pid, "group": group.directories}, go))

    def remove(self, pid: int) -> bool:
        """Forget a pid 1 or worker that has ended. Returns whether its enclosure was waiting here."""
        for number, order in list(self._orders.items()):
            if order.message.get("attach") == pid:
                self._let_go(self._orders.pop(number))
        for enclosure in self._ready:
            if pid in (enclosure.pid1, enclosure.worker and enclosure.worker.pid):
                self._ready.remove(enclosure)
                self.discard(enclosure)
                self.refill()
                return True
        return False

    def replace_builder(self) -> None:
        """Start a new builder after one was killed."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if time.monotonic() >= self._retry_at:
            self._start_builder()

    def _start_builder(self) -> None:
        """Start a builder, or later if there is no process to be had, and give it every open order."""
        try:
            self._channel, self.builder = spawn_builder(self._build_settings)
        except OSError:
            return
        finally:
            self._retry_at = time.monotonic() + RETRY_S  # also for one that ends at once
        self._unsent = deque(self._orders)
        self._send()

    def _request(self, command: dict | None) -> None:
        self._count += 1
        name = f"{self._setup.instance}-{self._count}"
        request = {
            "build": name,
            "workspace": (command and command["workspace"]) or name,
            "uid": (command and command["uid"]) or self._setup.uid_of(self._count),
            "enclosure": command and command["enclosure"],  # by which the builder asks the host for what it has
            "hasMounts": bool(command and command["hasMounts"]),
            "network": bool(command and command["network"]),
            "listed": bool(command and command["listed"]),
            "readOnly": bool(command and command["readOnly"]),
            "limitsCpus": command is not None and self._needs_own_group(command),
        }
        self._waiting[self._order(Order(request))] = command

    def _needs_own_group(self, command: dict) -> bool:
        """Return whether a session is limited by a controller that an enclosure made ahead of time has no group of."""
        return command["limits"]["cpus"] is not None and self._setup.cgroups.is_per_controller

    def _order(self, order: Order) -> int:
        number = order.message["number"] = next(self._numbers)
        self._orders[number] = order
        self._unsent.append(number)
        self._send()
        return number

    def _send(self) -> None:
        """Send what the builder has room for."""
        while self._channel is not None and self._unsent:
            order = self._orders.get(self._unsent[0])
            try:
                if order is not None:
                    data = json.dumps(order.message).encode()
                    socket.send_fds(self._channel, [data], [] if order.fd is None else [order.fd])
            except OSError:  # it has no room at the moment, or has just ended
                self._retry_at = time.monotonic() + RETRY_S
                return
            self._unsent.popleft()

    def _let_go(self, order: Order | None) -> None:
        """Close what went with an order that is done. A worker that was not let go ends by that."""
        if order is not None and order.fd is not None:
            os.close(order.fd)


def spawn_builder(settings: builder.BuildSettings) -> tuple[socket.socket, int]:
    """Fork the builder. Returns our end of the channel and its pid."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        pid = os.fork()
    except OSError:
        ours.close()
        theirs.close()
        raise
    if pid == 0:
        gc.enable()  # the zygote puts it off until all is imported
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        kernel.close_fds_except([theirs.fileno()])
        builder.serve(theirs, settings)
    theirs.close()
    ours.setblocking(False)  # `recv_fds` and `send_fds` ignore their flags
    return ours, pid
