"""Speaks with a session as an HTTP proxy: CONNECT for anything, and http:// addresses themselves."""

from __future__ import annotations

from _vivarium.gate import heads
from _vivarium.gate.addresses import NotAHost
from _vivarium.gate.connection import Connection, Unreachable, together
from _vivarium.gate.heads import BadMessage, Headers, Request
from _vivarium.gate.rules import Refused, read_entry
from _vivarium.gate.wire import Ended, Malformed, TooLong, Wire, next_chunk

_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_MAX_RESPONSE_HEAD = 64 << 10
_MAX_INTERIM = 8  # answers before the answer
_DRAINED = 1 << 18
_DRAIN_S = 2


async def serve(connection: Connection) -> None:
    """Answer one request."""
    try:
        request = await _receive_request(connection)
        upstream = await connection.open(request.host, request.port)
    except _Answer as answer:
        await _refuse(connection, answer.status, answer.reason)
        return
    except Refused as refused:
        await _refuse(connection, 403, str(refused))
        return
    except Unreachable as problem:
        await _refuse(connection, 502, str(problem))
        return
    if request.method == "CONNECT":
        await connection.client.send(_ESTABLISHED)
        await connection.tunnel(upstream, request.host, request.port)
    else:
        await _forward(connection, upstream, request)


class _Answer(Exception):
    """What to answer to a request that leads nowhere."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


async def _receive_request(connection: Connection) -> Request:
    limit = connection.party.limits.head_bytes
    try:
        head = await connection.client.until(b"\r\n\r\n", limit)
    except TooLong:
        reason = f"the head of a request may have {limit} bytes"
        connection.refuse("", 0, reason)
        raise _Answer(431, reason) from None
    try:
        return heads.read_request(head)
    except NotAHost as error:
        target = head.split(b"\r\n")[0].split(b" ")[1].decode("latin-1")
        connection.refuse(target, 0, f"{target[:100]} cannot be reached: {error}")
        raise _Answer(403, f"{target[:100]} cannot be reached: {error}") from error
    except BadMessage as error:
        connection.refuse("", 0, f"a request was not understood: {error}")
        raise _Answer(400, f"the request was not understood: {error}") from error


async def _refuse(connection: Connection, status: int, reason: str) -> None:
    """Say why, and read what is still coming: closing before that would lose the answer on its way."""
    await connection.client.send(heads.refusal(status, reason))
    connection.client.end()
    connection.expect(_DRAIN_S)
    left = _DRAINED
    while left > 0 and (data := await connection.client.some()):
        left -= len(data)


async def _forward(connection: Connection, upstream: Wire, request: Request) -> None:
    headers = _with_secrets(connection, request)
    await connection.pass_out(heads.request_head(request, headers), upstream)
    answering = _Answering(connection, upstream, request)
    try:
        await together(answering.send_body(), answering.receive())
    except _Done:
        return
    except (BadMessage, Malformed, TooLong, Ended) as error:
        if answering.has_begun:
            connection.client.abort()  # the session must not take what it has for the whole
            return
        reason = f"{request.host}:{request.port} gave no answer that was understood: {error or type(error).__name__}"
        connection.refuse(request.host, request.port, reason)
        await _refuse(connection, 502, reason)


class _Done(Exception):
    """The answer is complete, whether the request was read to its end or not."""


class _Answering:
    """One request on its way out, and its answer on its way in."""

    def __init__(self, connection: Connection, upstream: Wire, request: Request) -> None:
        self._connection = connection
        self._upstream = upstream
        self._request = request
        self.has_begun = False

    async def send_body(self) -> None:
        """Pass on the body of the request, no byte more and none less."""
        client, length = self._connection.client, self._request.length
        if length is not None:
            await self._pass(client, length, outwards=True)
            return
        while size := await next_chunk(client):
            await self._out(b"%x\r\n" % size)
            await self._pass(client, size, outwards=True)
            await _end_chunk(client)
            await self._out(b"\r\n")
        await self._out(b"0\r\n\r\n")

    async def receive(self) -> None:
        """Pass on the answer. Raises `_Done`: then the rest of the request does not matter."""
        for _ in range(_MAX_INTERIM):
            head = await self._upstream.until(b"\r\n\r\n", _MAX_RESPONSE_HEAD)
            response = heads.read_response(head, self._request.method)
            if response.status >= 200:
                break
            if response.status == 101:
                raise BadMessage("it changed the protocol")
            await self._in(b"HTTP/1.1 %d Continue\r\n\r\n" % response.status)
        else:
            raise BadMessage("it went on without an answer")
        self.has_begun = True
        await self._in(heads.response_head(response))
        if response.length is None:
            while data := await self._upstream.some():
                await self._in(data)
        elif response.length >= 0:
            await self._pass(self._upstream, response.length, outwards=False)
        else:
            await self._receive_chunks()
        self._connection.client.end()
        raise _Done

    async def _receive_chunks(self) -> None:
        while size := await next_chunk(self._upstream):
            await self._in(b"%x\r\n" % size)
            await self._pass(self._upstream, size, outwards=False)
            await _end_chunk(self._upstream)
            await self._in(b"\r\n")
        await self._in(b"0\r\n\r\n")

    async def _pass(self, source: Wire, count: int, *, outwards: bool) -> None:
        while count:
            data = await source.some(count)
            if not data:
                raise Ended
            count -= len(data)
            await (self._out(data) if outwards else self._in(data))

    async def _out(self, data: bytes) -> None:
        await self._connection.pass_out(data, self._upstream)

    async def _in(self, data: bytes) -> None:
        await self._connection.pass_in(data)


async def _end_chunk(source: Wire) -> None:
    if await source.exactly(2) != b"\r\n":
        raise Malformed("a chunk does not end where it should")


def _with_secrets(connection: Connection, request: Request) -> Headers:
    """Put secrets in the place of what stands for them, if they are for this host."""
    headers = request.headers
    for secret in connection.party.secrets:
        entries = [read_entry(fields, default_ports=(80,)) for fields in secret["hosts"]]
        host = request.host
        is_meant = any(one.has_name(host) if isinstance(host, str) else one.has_address(host) for one in entries)
        if is_meant and any(one.has_port(request.port) for one in entries):
            headers = [(name, value.replace(secret["placeholder"], secret["value"])) for name, value in headers]
    return headers
