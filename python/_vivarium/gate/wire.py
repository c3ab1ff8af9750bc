"""One end of a connection, read and written by the event loop. Nothing is kept of it but what was not read yet."""

from __future__ import annotations

import asyncio
import re
import socket

CHUNK = 1 << 16
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})(?:[ \t]*;[\t\x20-\x7e]*)?")
_MAX_LINE = 1024
_MAX_TRAILER = 8192


class TooLong(Exception):
    """What must come to an end has not come to one."""


class Ended(Exception):
    """The other side has ended the connection in the middle of something."""


class Malformed(Exception):
    """A body in chunks is not what it should be."""


class Wire:
    """A connected socket. The one who reads ahead keeps the rest here."""

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        self._socket = connected
        self._ahead = bytearray()

    async def until(self, mark: bytes, limit: int) -> bytes:
        """Read up to `mark`, which is not part of what is returned."""
        start = 0
        while (found := self._ahead.find(mark, start)) < 0:
            start = max(0, len(self._ahead) - len(mark) + 1)
            if len(self._ahead) > limit:
                raise TooLong
            await self._read()
        if found > limit:
            raise TooLong
        return self._take(found + len(mark))[: -len(mark)]

    async def exactly(self, count: int) -> bytes:
        """Read so many bytes."""
        while len(self._ahead) < count:
            await self._read()
        return self._take(count)

    async def some(self, most: int = CHUNK) -> bytes:
        """Read what there is, at least a byte; nothing at the end."""
        if not self._ahead:
            return await asyncio.get_running_loop().sock_recv(self._socket, min(most, CHUNK))
        return self._take(min(most, len(self._ahead)))

    def give_back(self, data: bytes) -> None:
        """Have data read again."""
        self._ahead[:0] = data

    async def send(self, data: bytes) -> None:
        """Write all of it, as fast as the other side reads."""
        await asyncio.get_running_loop().sock_sendall(self._socket, data)

    def end(self) -> None:
        """Write no more."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            return  # it has ended already

    def close(self) -> None:
        """Close the socket; nothing may be waiting on it."""
        self._socket.close()

    def abort(self) -> None:
        """Close the socket so that the other side takes it for an error."""
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        except OSError:
            pass  # then it is closed as usual
        self._socket.close()

    async def _read(self) -> None:
        data = await asyncio.get_running_loop().sock_recv(self._socket, CHUNK)
        if not data:
            raise Ended
        self._ahead += data

    def _take(self, count: int) -> bytes:
        taken = bytes(self._ahead[:count])
        del self._ahead[:count]
        return taken


async def next_chunk(source: Wire) -> int:
    """Read the size of the next chunk of a body; at 0 also what follows the last one, which is dropped."""
    line = await source.until(b"\r\n", _MAX_LINE)
    size = _CHUNK_SIZE.fullmatch(line)
    if size is None:
        raise Malformed("the size of a chunk is malformed")
    count = int(size[1], 16)
    dropped = 0
    while count == 0 and (trailer := await source.until(b"\r\n", _MAX_LINE)):
        dropped += len(trailer)
        if dropped > _MAX_TRAILER:
            raise TooLong
    return count
