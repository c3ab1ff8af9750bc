"""Looks up names: as this machine does, or at one name server."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import struct
from concurrent.futures import ThreadPoolExecutor

from _vivarium.gate.addresses import Address, unmapped

THREADS = 32
TIMEOUT_S = 10
_TYPES = {1: ipaddress.IPv4Address, 28: ipaddress.IPv6Address}
_MAX_ADDRESSES = 16


class NotFound(Exception):
    """A name has no address. The message says so."""


class SystemLookup:
    """Names as every program of this machine finds them."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS)

    async def addresses(self, name: str) -> list[Address]:
        """Return the addresses of a name, in the order in which to try them."""
        loop = asyncio.get_running_loop()
        try:
            found = await asyncio.wait_for(loop.run_in_executor(self._threads, _resolve, name), TIMEOUT_S)
        except asyncio.TimeoutError as error:
            raise NotFound(f"the name {name} could not be looked up within {TIMEOUT_S} s") from error
        except (OSError, UnicodeError) as error:
            raise NotFound(f"the name {name} is not known ({getattr(error, 'strerror', None) or error})") from error
        return found


def _resolve(name: str) -> list[Address]:
    found = socket.getaddrinfo(f"{name}.", None, type=socket.SOCK_STREAM)  # with a dot: no search domains
    texts = dict.fromkeys(str(address[0]).partition("%")[0] for *_, address in found)
    return [unmapped(ipaddress.ip_address(text)) for text in texts][:_MAX_ADDRESSES]


class ServerLookup:
    """Names as one name server knows them."""

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)

    async def addresses(self, name: str) -> list[Address]:
        """Return the addresses of a name, IPv4 first."""
        found: list[Address] = []
        for kind in _TYPES:
            found += await self._ask(name, kind)
        if not found:
            raise NotFound(f"the name {name} is not known")
        return [unmapped(address) for address in found][:_MAX_ADDRESSES]

    async def _ask(self, name: str, kind: int) -> list[Address]:
        number = os.urandom(2)
        labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
        query = number + struct.pack(">HHHHH", 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1)
        loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
            channel.setblocking(False)
            channel.connect(self._server)
            try:
                await loop.sock_sendall(channel, query)
                answer = await asyncio.wait_for(loop.sock_recv(channel, 4096), TIMEOUT_S)
            except (OSError, asyncio.TimeoutError) as error:
                raise NotFound(f"the name {name} could not be looked up") from error
        return _read_answer(answer, len(query), kind) if answer[:2] == number else []


def _read_answer(answer: bytes, start: int, kind: int) -> list[Address]:
    """Return the addresses in an answer that repeats a question of this length, without aliases."""
    found: list[Address] = []
    for _ in range(struct.unpack_from(">H", answer, 6)[0]):
        start = _past_name(answer, start)
        record, _, _, length = struct.unpack_from(">HHIH", answer, start)
        start += 10
        if record == kind:
            found.append(_TYPES[kind](answer[start : start + length]))
        start += length
    return found


def _past_name(answer: bytes, start: int) -> int:
    while answer[start] not in (0,) and answer[start] < 0xC0:
        start += 1 + answer[start]
    return start + (2 if answer[start] >= 0xC0 else 1)
