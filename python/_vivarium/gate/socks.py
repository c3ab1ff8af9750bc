"""Speaks with a session as a SOCKS5 proxy: connections by name and by address, and nothing else."""

from __future__ import annotations

import ipaddress

from _vivarium.gate.addresses import Address, NotAHost, parse_host, unmapped
from _vivarium.gate.connection import Connection, Unreachable
from _vivarium.gate.rules import Refused

_VERSION = 5
_NO_AUTHENTICATION = 0
_NONE_ACCEPTABLE = 0xFF
_CONNECT = 1
_GRANTED, _NOT_ALLOWED, _UNREACHABLE, _NO_SUCH_COMMAND, _NO_SUCH_ADDRESS = 0, 2, 4, 7, 8


async def serve(connection: Connection) -> None:
    """Answer one request."""
    client = connection.client
    version, count = await client.exactly(2)
    if version != _VERSION:
        connection.refuse("", 0, "a request to the SOCKS proxy was not one of SOCKS5")
        return
    is_open = _NO_AUTHENTICATION in await client.exactly(count)
    await client.send(bytes([_VERSION, _NO_AUTHENTICATION if is_open else _NONE_ACCEPTABLE]))
    if not is_open:
        return
    version, command, _, kind = await client.exactly(4)
    try:
        host, port = await _read_target(connection, kind)
    except NotAHost:
        await _answer(connection, _NO_SUCH_ADDRESS if kind != 3 else _NOT_ALLOWED)
        return
    if version != _VERSION or command != _CONNECT:
        connection.refuse(host, port, "the SOCKS proxy makes connections only (CONNECT)")
        await _answer(connection, _NO_SUCH_COMMAND)
        return
    try:
        upstream = await connection.open(host, port)
    except Refused:
        await _answer(connection, _NOT_ALLOWED)
        return
    except Unreachable:
        await _answer(connection, _UNREACHABLE)
        return
    await _answer(connection, _GRANTED)
    await connection.tunnel(upstream, host, port)


async def _read_target(connection: Connection, kind: int) -> tuple[str | Address, int]:
    client = connection.client
    if kind == 1:
        host: str | Address = ipaddress.IPv4Address(await client.exactly(4))
    elif kind == 4:
        host = unmapped(ipaddress.IPv6Address(await client.exactly(16)))
    elif kind == 3:
        name = (await client.exactly((await client.exactly(1))[0])).decode("latin-1")
        try:
            host = parse_host(name)
        except NotAHost as error:
            connection.refuse(name, int.from_bytes(await client.exactly(2), "big"), f"it cannot be reached: {error}")
            raise
    else:
        connection.refuse("", 0, "a request to the SOCKS proxy has an unknown kind of address")
        raise NotAHost("an unknown kind of address")
    return host, int.from_bytes(await client.exactly(2), "big")


async def _answer(connection: Connection, code: int) -> None:
    await connection.client.send(bytes([_VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]))
