"""The supply of enclosures: some are ready ahead of time, special ones are built when a session asks for them."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
from collections import deque

from _vivarium.confine import cgroup, kernel
from _vivarium.enclosure import builder
from _vivarium.record import Fields
from _vivarium.zygote.setup import Setup
from _vivarium.zygote.workers import WaitingWorker

CANCELLED: dict = {}


class Enclosure(Fields):
    """Walls with a worker that waits for its session. Descriptors are numbers: objects would close them in a fork."""

    pid1: int
    workspace: str
    uid: int
    lifeline: int
    namespaces: tuple[int, ...]
    group: cgroup.Group | None
    worker: WaitingWorker | None = None

    def close(self) -> None:
        """Close the lifeline, which ends pid 1 and with it every process inside."""
        os.close(self.lifeline)
        if self.worker is not None:
            os.close(self.worker.channel)
        for fd in self.namespaces:
            os.close(fd)
        if self.group is not None:
            self.group.remove()


class OpenEnclosure(Fields):
    """An enclosure with a session, as the zygote knows it: processes and facts, nothing that the session computes."""

    id: str
    walls: Enclosure
    worker: int
    memory_bytes: int
    oom_kills: int = 0
    cause: str | None = None


class BuildFailed(Exception):
    """An enclosure that a session waits for could not be built. The text says why."""

    def __init__(self, command: dict, problem: str) -> None:
        super().__init__(problem)
        self.command = command


class Supply:
    """Talks to the builder, and replaces it when it is gone."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._build_settings = setup.build_settings()
        self._channel, self.builder = spawn_builder(self._build_settings)
        self._ready: deque[Enclosure] = deque()
        self._waiting: dict[str, dict | None] = {}
        self._requests: dict[str, dict] = {}
        self._count = 0

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._channel.fileno()

    def claim(self, command: dict) -> Enclosure | None:
        """Return a ready enclosure if one fits. Otherwise one is on its way."""
        is_plain = not (command["mounts"] or command["network"] or command["readOnly"] or command["workspace"])
        if is_plain and self._ready:
            return self._ready.popleft()
        promised = (
            next((name for name, waiting in self._waiting.items() if waiting is None), None) if is_plain else None
        )
        if promised is None:
            self._request(command)
        else:
            self._waiting[promised] = command  # under construction already
        return None

    def cancel(self, enclosure: str) -> bool:
        """Cancel an order. Returns whether it was still open."""
        for name, command in self._waiting.items():
            if command and command["enclosure"] == enclosure:  # neither an order ahead of time nor a cancelled one
                self._waiting[name] = CANCELLED
                return True
        return False

    def refill(self, least: int = 0) -> None:
        """Order enclosures ahead of time."""
        wanted = max(least, self._setup.ahead)
        while len(self._ready) + sum(command is None for command in self._waiting.values()) < wanted:
            self._request(None)

    def receive(self) -> tuple[dict | None, Enclosure] | None:
        """Take what the builder has built, and the command that waits for it, if any."""
        message, fds, _, _ = socket.recv_fds(self._channel, 1 << 20, 16)
        if not message:
            raise ConnectionError("the builder is gone")
        answer = json.loads(message)
        command = self._waiting.pop(answer["id"])
        del self._requests[answer["id"]]
        if "error" in answer:
            if command is not None and command is not CANCELLED:
                raise BuildFailed(command, answer["error"])
            return None  # an order ahead of time is not repeated: the next session that needs one gets the reason
        group = cgroup.Group(self._setup.cgroups.kind, answer["group"]) if answer["group"] else None
        enclosure = Enclosure(answer["pid1"], answer["workspace"], answer["uid"], fds[0], tuple(fds[1:]), group)
        if command is CANCELLED:
            enclosure.close()
            return None
        return command, enclosure

    def keep(self, enclosure: Enclosure) -> None:
        """Keep an enclosure for the next session."""
        self._ready.append(enclosure)

    def disown(self) -> None:
        """In a child of the zygote: detach from the channel."""
        self._channel.detach()

    def attach(self, group: cgroup.Group, pid: int, go: int) -> None:
        """Have the builder move a process into its group and let it go on. That takes time, and the zygote has none."""
        order = {"attach": pid, "group": group.directories}
        socket.send_fds(self._channel, [json.dumps(order).encode()], [go])

    def replace_builder(self) -> None:
        """Start a new builder after one was killed, and repeat every open order."""
        self._channel.close()
        self._channel, self.builder = spawn_builder(self._build_settings)
        for request in self._requests.values():
            self._order(request)

    def remove(self, pid: int) -> bool:
        """Remove the enclosure of a pid 1 or worker that has ended. Returns whether it was waiting here."""
        for enclosure in self._ready:
            if pid in (enclosure.pid1, enclosure.worker and enclosure.worker.pid):
                self._ready.remove(enclosure)
                enclosure.close()
                self.refill()
                return True
        return False

    def _request(self, command: dict | None) -> None:
        self._count += 1
        name = f"{self._setup.instance}-{self._count}"
        request = {
            "id": name,
            "workspace": (command and command["workspace"]) or name,
            "uid": (command and command["uid"]) or self._setup.uid_of(self._count),
            "mounts": [{**mount, "source": self._setup.host + mount["source"]} for mount in command["mounts"]]
            if command
            else [],
            "network": bool(command and command["network"]),
            "readOnly": bool(command and command["readOnly"]),
        }
        self._waiting[name] = command
        self._requests[name] = request
        self._order(request)

    def _order(self, request: dict) -> None:
        try:
            self._channel.send(json.dumps(request).encode())
        except OSError:
            return  # the builder has just ended, and its successor gets every open order


def spawn_builder(settings: builder.BuildSettings) -> tuple[socket.socket, int]:
    """Fork the builder. Returns our end of the channel and its pid."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        gc.enable()  # the zygote puts it off until all is imported
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        kernel.close_fds_except([theirs.fileno()])
        builder.serve(theirs, settings)
    theirs.close()
    return ours, pid
