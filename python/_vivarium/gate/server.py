"""The gate's loop: it takes orders of the host, and serves the listeners of all sessions that have a list."""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import socket
import time
from collections.abc import Callable, Coroutine

from _vivarium.channel import Channel
from _vivarium.gate import http, socks
from _vivarium.gate.addresses import parse_host
from _vivarium.gate.connection import Connection, Limits, Party, attempt_event
from _vivarium.gate.lookup import ServerLookup, SystemLookup
from _vivarium.gate.rules import Refused, Rules
from _vivarium.gate.wire import Ended, Malformed, TooLong, Wire
from _vivarium.protocol import Closed
from _vivarium.values.hints import Any

MAX_LISTENERS = 128
MAX_PROBLEM = 300
_HANDOVER_S = 10
_SWEEP_S = 0.25
_NO_ROOM_S = 0.1

Serve = Callable[[Connection], Coroutine[Any, Any, None]]


class Enclosure:
    """The listeners and connections of one session."""

    def __init__(self, name: str, gate: Gate, order: dict[str, Any]) -> None:
        self.name = name
        self.connections: dict[int, Connection] = {}
        self._gate = gate
        self._bytes = 0
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._accepting: list[asyncio.Task[None]] = []
        self._listeners: list[socket.socket] = []
        self._tokens = float(gate.limits.burst)
        self._counted_at = time.monotonic()
        self.party = Party(
            rules=Rules(order["allow"], order["deny"], order.get("trusted", [])),
            lookup=gate.lookup,
            lookups=asyncio.Semaphore(gate.limits.lookups),
            limits=gate.limits,
            secrets=order["secrets"],
            spend=self._spend,
            report=self._report,
        )

    def listen(self, listeners: list[tuple[dict[str, Any], socket.socket]]) -> None:
        """Serve what arrives at these sockets, which are in the network of the session."""
        for kind, listener in listeners:
            listener.setblocking(False)
            self._listeners.append(listener)
            self._accepting.append(asyncio.ensure_future(self._accept(listener, _server_of(kind))))

    async def close(self) -> None:
        """End everything."""
        tasks = [*self._accepting, *self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for listener in self._listeners:
            listener.close()

    def sweep(self) -> None:
        """End the connections on which nothing has happened for too long."""
        for number, connection in list(self.connections.items()):
            if connection.is_late:
                if not connection.is_open and not connection.is_told:
                    connection.refuse("", 0, "nothing complete was asked for in time")
                self._tasks[number].cancel()

    async def _accept(self, listener: socket.socket, serve: Serve) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._take_token()
            try:
                accepted, _ = await loop.sock_accept(listener)
            except OSError:  # no descriptor is left, or the session has given up already
                await asyncio.sleep(_NO_ROOM_S)
                continue
            number = next(self._gate.numbers)
            connection = Connection(number, Wire(accepted), self.party)
            limits = self._gate.limits
            if len(self.connections) >= limits.connections or self._gate.count() >= limits.all_connections:
                most = min(limits.connections, limits.all_connections)
                connection.refuse("", 0, f"too many connections are open at the same time (at most {most})")
                connection.client.abort()
                continue
            self.connections[number] = connection
            self._tasks[number] = asyncio.ensure_future(self._serve(connection, serve))

    async def _serve(self, connection: Connection, serve: Serve) -> None:
        try:
            await serve(connection)
        except (OSError, Ended, TooLong, Malformed, Refused, ValueError):
            pass  # the session or the other side has ended it, or it was told already why we did
        finally:
            del self.connections[connection.number], self._tasks[connection.number]
            connection.close()
            if connection.is_open:
                self._report(
                    {
                        "event": "closed",
                        "id": connection.number,
                        "sent": connection.sent,
                        "received": connection.received,
                    }
                )

    async def _take_token(self) -> None:
        """Wait until another connection may begin."""
        limits = self._gate.limits
        while True:
            now = time.monotonic()
            gained = (now - self._counted_at) * limits.per_second
            self._tokens, self._counted_at = min(self._tokens + gained, limits.burst), now
            if self._tokens >= 1:
                self._tokens -= 1
                return
            await asyncio.sleep((1 - self._tokens) / limits.per_second)

    def _spend(self, count: int) -> None:
        before, most = self._bytes, self._gate.limits.session_bytes
        self._bytes += count
        if self._bytes <= most:
            return
        reason = f"the session has sent and received {most} bytes, the most that it may"
        if before <= most:
            self._report(attempt_event(0, "refused", "", 0, None, reason))
        raise Refused(reason)

    def _report(self, event: dict[str, Any]) -> None:
        self._gate.send({**event, "enclosure": self.name})


class Gate:
    """Connects sessions with the hosts on their lists. A message with a request number is answered."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.limits = Limits()
        self.lookup: SystemLookup | ServerLookup = SystemLookup()
        self.numbers = itertools.count(1)
        self._enclosures: dict[str, Enclosure] = {}
        self._ended = asyncio.Event()
        self._orders: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._is_writing = False

    def count(self) -> int:
        """Return how many connections there are."""
        return sum(len(one.connections) for one in self._enclosures.values())

    async def serve(self) -> None:
        """Work until the host is gone."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._channel.fileno(), self._read)
        work = [asyncio.ensure_future(self._obey()), asyncio.ensure_future(self._sweep())]
        await self._ended.wait()
        for task in work:
            task.cancel()

    def send(self, message: dict[str, Any]) -> None:
        """Tell the host something, before anything that is done after this."""
        try:
            self._channel.send(message)
            self._write_on()
        except Closed:
            self._ended.set()

    def _write_on(self) -> None:
        """Have the rest written when the host takes it."""
        loop = asyncio.get_running_loop()
        if not self._channel.is_flushed and not self._is_writing:
            loop.add_writer(self._channel.fileno(), self._flush)
        elif self._channel.is_flushed and self._is_writing:
            loop.remove_writer(self._channel.fileno())
        self._is_writing = not self._channel.is_flushed

    def _flush(self) -> None:
        try:
            self._channel.flush()
            self._write_on()
        except Closed:
            self._ended.set()

    def _read(self) -> None:
        try:
            for message in self._channel.receive():
                self._orders.put_nowait(message)
        except Closed:
            self._ended.set()

    async def _obey(self) -> None:
        """Do what is asked for: for one session one thing after the other, and no session waits for another."""
        last: dict[str, asyncio.Task[None]] = {}
        while True:
            message = await self._orders.get()
            name = message.get("enclosure", "")
            last = {known: task for known, task in last.items() if not task.done()}
            last[name] = asyncio.ensure_future(self._handle(message, last.get(name)))

    async def _handle(self, message: dict[str, Any], earlier: asyncio.Task[None] | None) -> None:
        operations = {"configure": self._configure, "serve": self._admit, "leave": self._leave, "tally": self._tally}
        value, problem = None, None
        try:
            if earlier is not None:
                await earlier
            value = await operations[message["op"]](message)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"[:MAX_PROBLEM]
        if "request" in message:
            self.send({"event": "answer", "request": message["request"], "value": value, "problem": problem})

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_S)
            for enclosure in list(self._enclosures.values()):
                enclosure.sweep()

    async def _configure(self, message: dict[str, Any]) -> None:
        self.limits = Limits(**message.get("limits", {}))
        if message.get("resolver") is not None:
            self.lookup = ServerLookup(*message["resolver"])

    async def _admit(self, message: dict[str, Any]) -> None:
        """Serve a session from now on. Its pid 1 keeps its listeners, and hands them over at this socket."""
        await self._leave(message)
        enclosure = Enclosure(message["enclosure"], self, message)
        loop = asyncio.get_running_loop()
        listeners = await loop.run_in_executor(None, functools.partial(_take_listeners, message["socket"]))
        enclosure.listen(listeners)
        self._enclosures[message["enclosure"]] = enclosure

    async def _leave(self, message: dict[str, Any]) -> None:
        enclosure = self._enclosures.pop(message["enclosure"], None)
        if enclosure is not None:
            await enclosure.close()

    async def _tally(self, message: dict[str, Any]) -> list[tuple[int, int, int]]:
        """Return what has passed on the connections that are open."""
        enclosure = self._enclosures.get(message["enclosure"])
        if enclosure is None:
            return []
        return [(one.number, one.sent, one.received) for one in enclosure.connections.values() if one.is_open]


def _take_listeners(path: str) -> list[tuple[dict[str, Any], socket.socket]]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as handover:
        handover.settimeout(_HANDOVER_S)
        handover.connect(path)
        message, fds, _, _ = socket.recv_fds(handover, 1 << 16, MAX_LISTENERS)
    listeners = [socket.socket(fileno=fd) for fd in fds]
    kinds = json.loads(message)
    if len(kinds) != len(listeners):
        raise OSError(f"{len(kinds)} listeners were promised and {len(listeners)} came")
    return list(zip(kinds, listeners))


def _server_of(kind: dict[str, Any]) -> Serve:
    if kind["kind"] == "http":
        return http.serve
    if kind["kind"] == "socks":
        return socks.serve
    return functools.partial(_lead, host=parse_host(kind["host"]), port=int(kind["port"]))


async def _lead(connection: Connection, *, host: Any, port: int) -> None:
    """Lead a connection to the one host that its listener stands for."""
    try:
        upstream = await connection.open(host, port)
    except Exception:
        connection.client.abort()  # told already
        return
    await connection.tunnel(upstream, host, port)
