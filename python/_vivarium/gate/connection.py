"""One connection of a session: finds out where it may lead, leads there, and counts what passes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Callable, Coroutine

from _vivarium.gate import tls
from _vivarium.gate.addresses import Address
from _vivarium.gate.lookup import TIMEOUT_S, NotFound, ServerLookup, SystemLookup
from _vivarium.gate.rules import Refused, Rules
from _vivarium.gate.wire import Ended, Wire
from _vivarium.record import Record
from _vivarium.values.hints import Any

MAX_TRIED = 4  # addresses of one name
_MAX_SHOWN = 300


class Limits(Record):
    """What sessions may have of the gate."""

    connections: int = 100  # of one session, at the same time
    all_connections: int = 2000
    per_second: int = 50  # new connections of one session
    burst: int = 200
    lookups: int = 8  # of one session, at the same time
    session_bytes: int = 16 << 30
    head_bytes: int = 32 << 10
    head_s: float = 10
    connect_s: float = 15
    idle_s: float = 600
    half_open_s: float = 60


class Unreachable(Exception):
    """A host that may be reached cannot be. The message says why."""


class Party(Record):
    """What the connections of one session have in common."""

    rules: Rules
    lookup: SystemLookup | ServerLookup
    lookups: asyncio.Semaphore
    limits: Limits
    secrets: list[dict[str, Any]]
    spend: Callable[[int], None]  # raises `Refused` when the session has passed its bytes
    report: Callable[[dict[str, Any]], None]


class Connection:
    """A connection that a session has made to us, and the one that we make for it."""

    def __init__(self, number: int, client: Wire, party: Party) -> None:
        self.number = number
        self.client = client
        self.party = party
        self.sent = 0
        self.received = 0
        self.is_open = False  # leads somewhere
        self.is_told = False  # an attempt was reported
        self._upstream: Wire | None = None
        self._idle_s = party.limits.idle_s
        self._late_at = 0.0
        self.expect(party.limits.head_s)

    def expect(self, seconds: float) -> None:
        """Something must happen within this time."""
        self._late_at = time.monotonic() + seconds

    @property
    def is_late(self) -> bool:
        """Whether nothing has happened for too long."""
        return time.monotonic() > self._late_at

    def refuse(self, host: object, port: int, reason: str, address: Address | None = None) -> None:
        """Report that an attempt was refused."""
        self._report("refused", host, port, address, reason)

    async def open(self, host: str | Address, port: int) -> Wire:
        """Connect to a host, if that is allowed, at an address that is. Raises `Refused` or `Unreachable`."""
        limits = self.party.limits
        self.expect(TIMEOUT_S + MAX_TRIED * limits.connect_s + limits.head_s)
        address: Address | None = None
        try:
            self.party.spend(0)
            self.party.rules.check_host(host, port)
            addresses = [host] if not isinstance(host, str) else await self._look_up(host, port)
        except Refused as error:
            self.refuse(host, port, str(error), getattr(error, "address", None))
            raise
        except NotFound as error:
            self._report("allowed", host, port, None, str(error))
            raise Unreachable(str(error)) from error
        problem = ""
        for address in addresses[:MAX_TRIED]:
            try:
                self._upstream = await _connect(address, port, limits.connect_s)
            except (OSError, asyncio.TimeoutError) as error:
                number = getattr(error, "errno", None)
                problem = os.strerror(number) if number else f"no answer within {limits.connect_s:g} s"
                continue
            self.is_open = True
            self._report("allowed", host, port, address, None)
            self.active()
            return self._upstream
        problem = f"{host}:{port} cannot be reached: {problem}"
        self._report("allowed", host, port, address, problem)
        raise Unreachable(problem)

    async def tunnel(self, upstream: Wire, host: str | Address, port: int) -> None:
        """Pass on bytes in both directions until both have ended."""
        await together(self._send_inspected(upstream, host, port), self._receive(upstream))

    async def pass_out(self, data: bytes, upstream: Wire) -> None:
        """Pass on bytes of the session."""
        self.party.spend(len(data))
        await upstream.send(data)
        self.sent += len(data)
        self.active()

    async def pass_in(self, data: bytes) -> None:
        """Pass on bytes for the session."""
        self.party.spend(len(data))
        self.received += len(data)
        await self.client.send(data)
        self.active()

    def active(self) -> None:
        """Something has just passed."""
        self.expect(self._idle_s)

    def close(self) -> None:
        """Close both ends."""
        self.client.close()
        if self._upstream is not None:
            self._upstream.close()

    async def _send_inspected(self, upstream: Wire, host: str | Address, port: int) -> None:
        data = await self._first_data(host, port)
        while data:
            await self.pass_out(data, upstream)
            data = await self.client.some()
        upstream.end()
        self._leave_half_open()

    async def _receive(self, upstream: Wire) -> None:
        while data := await upstream.some():
            await self.pass_in(data)
        self.client.end()
        self._leave_half_open()

    def _leave_half_open(self) -> None:
        self._idle_s = min(self._idle_s, self.party.limits.half_open_s)
        self.active()

    async def _first_data(self, host: str | Address, port: int) -> bytes:
        """Return the first data of a session. TLS must be with the host that it has asked for."""
        data = await self.client.some()
        if not data or data[0] != tls.HANDSHAKE or not isinstance(host, str):
            return data
        self.expect(self.party.limits.head_s)
        try:
            while True:
                with contextlib.suppress(tls.Incomplete):
                    name = tls.server_name(data)
                    break
                more = await self.client.some()
                if not more:
                    raise Ended
                data += more
        except tls.NotTls as error:
            reason = f"what was sent to {host}:{port} looks like TLS, but {error}"
        else:
            if name is None or name == host:
                return data
            reason = f"TLS was begun with {name[:100]} on a connection to {host}; they must be the same"
        self.refuse(host, port, reason)
        await self.client.send(tls.ALERT)
        raise Refused(reason)

    async def _look_up(self, name: str, port: int) -> list[Address]:
        """Return the addresses of a name that may be reached. Only these are used: a second look-up might differ."""
        async with self.party.lookups:
            found = await self.party.lookup.addresses(name)
        allowed: list[Address] = []
        first: Refused | None = None
        for address in found:
            try:
                self.party.rules.check_address(name, address, port)
                allowed.append(address)
            except Refused as error:
                error.address = address  # type: ignore[attr-defined]
                first = first or error
        if not allowed:
            raise first or NotFound(f"the name {name} has no address")
        return allowed

    def _report(self, decision: str, host: object, port: int, address: Address | None, reason: str | None) -> None:
        self.is_told = True
        self.party.report(attempt_event(self.number, decision, host, port, address, reason))


def attempt_event(
    number: int, decision: str, host: object, port: int, address: Address | None, reason: str | None
) -> dict[str, Any]:
    """Return what the host is told of an attempt. What a session has named is cut to plain text."""
    shown = "".join(one if one.isascii() and one.isprintable() else "?" for one in str(host)[:_MAX_SHOWN])
    return {
        "event": "attempt",
        "id": number,
        "host": shown,
        "port": port,
        "address": None if address is None else str(address),
        "decision": decision,
        "reason": None if reason is None else "".join(one if one.isprintable() else "?" for one in reason),
    }


async def _connect(address: Address, port: int, timeout_s: float) -> Wire:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    connecting = socket.socket(family, socket.SOCK_STREAM)
    try:
        connecting.setblocking(False)
        connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        loop = asyncio.get_running_loop()
        await asyncio.wait_for(loop.sock_connect(connecting, (str(address), port)), timeout_s)
    except BaseException:
        connecting.close()
        raise
    return Wire(connecting)


async def together(*work: Coroutine[Any, Any, None]) -> None:
    """Do things at the same time. When one fails, the others are ended, and its error is raised."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
            raise result
