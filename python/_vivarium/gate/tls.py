"""Finds the name in the first message of a TLS connection, without taking part in it."""

from __future__ import annotations

import struct

HANDSHAKE = 0x16
# "unrecognized_name": the end that a client shows as an error of the server's name.
ALERT = b"\x15\x03\x03\x00\x02\x02\x70"
_CLIENT_HELLO = 1
_SERVER_NAME = 0
_MAX_HELLO = 1 << 15


class Incomplete(Exception):
    """More bytes are needed."""


class NotTls(ValueError):
    """What begins like TLS is not TLS."""


def server_name(data: bytes) -> str | None:
    """Return the name that a client asks for, or None. Raises `Incomplete` until its first message is whole."""
    try:
        return _name_in(_client_hello(data))
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise NotTls("its first message is malformed") from error


def _client_hello(data: bytes) -> bytes:
    """Return the first message, which may come in several records."""
    message = b""
    start = 0
    while len(message) < 4 or len(message) < 4 + int.from_bytes(message[1:4], "big"):
        if len(data) < start + 5:
            raise Incomplete
        kind, major, _, length = struct.unpack_from(">BBBH", data, start)
        if kind != HANDSHAKE or major != 3 or not 0 < length <= 1 << 14:
            raise NotTls("its first record is malformed")
        if len(data) < start + 5 + length:
            raise Incomplete
        message += data[start + 5 : start + 5 + length]
        if message[0] != _CLIENT_HELLO:
            raise NotTls("its first message is not that of a client")
        start += 5 + length
        if len(message) > _MAX_HELLO:
            raise NotTls("its first message is too long")
    return message[4 : 4 + int.from_bytes(message[1:4], "big")]


def _name_in(hello: bytes) -> str | None:
    start = 2 + 32  # version and random
    start += 1 + hello[start]  # session
    start += 2 + struct.unpack_from(">H", hello, start)[0]  # ciphers
    start += 1 + hello[start]  # compression
    if start == len(hello):
        return None
    end = start + 2 + struct.unpack_from(">H", hello, start)[0]
    start += 2
    if end != len(hello):
        raise NotTls("its extensions are malformed")
    while start < end:
        kind, length = struct.unpack_from(">HH", hello, start)
        if kind == _SERVER_NAME:
            return _read_name(hello[start + 4 : start + 4 + length])
        start += 4 + length
    return None


def _read_name(extension: bytes) -> str:
    """Return the only name of the extension: a server might choose another one of several."""
    total, kind, length = struct.unpack_from(">HBH", extension)
    if kind != 0 or total != length + 3 or len(extension) != length + 5:
        raise NotTls("it names its server in a way that is not known")
    return extension[5:].decode("ascii").lower().rstrip(".")
