"""Frames on a stream socket: two lengths, a JSON header, raw bytes."""

from __future__ import annotations

import json
import os
import select
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # slow to load

LENGTHS = struct.Struct(">II")
MAX_FRAME = 64 << 20
GO = b"g"  # lets a forked process go on once its limits are attached
# Our own frames are never circular. Numbers that JSON lacks were replaced before they get here.
_to_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False).encode
_from_json = json.JSONDecoder().raw_decode


class Closed(Exception):
    """The other end is gone."""


def encode(header: dict[str, object], payload: bytes = b"") -> bytes:
    """One frame as bytes."""
    text = _to_json(header).encode("ascii")
    return LENGTHS.pack(len(text), len(payload)) + text + payload


def send(fd: int, header: dict[str, object], payload: bytes = b"") -> None:
    """Write one frame, whole, also to a descriptor that somebody made non-blocking."""
    write_all(fd, encode(header, payload))


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data`."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view[: 1 << 20]) :]
        except BlockingIOError:
            select.select([], [fd], [])


def receive(fd: int) -> dict[str, Any]:
    """Read the header of one frame of the host, which sends nothing behind it; `Closed` at the end of the stream."""
    text_length, payload_length = LENGTHS.unpack(read_exactly(fd, LENGTHS.size))
    if text_length > MAX_FRAME or payload_length > 0:
        raise Closed(f"a frame of {text_length} and {payload_length} bytes")
    return _from_json(read_exactly(fd, text_length).decode())[0]


def cut(data: bytes | bytearray) -> tuple[list[dict[str, Any]], int]:
    """Return the headers of all frames that are complete in what the host has sent, and how many bytes they took."""
    headers: list[dict[str, Any]] = []
    used = 0
    while len(data) - used >= LENGTHS.size:
        text_length, payload_length = LENGTHS.unpack_from(data, used)
        if text_length > MAX_FRAME or payload_length > 0:
            raise Closed(f"a frame of {text_length} and {payload_length} bytes")
        end = used + LENGTHS.size + text_length
        if end > len(data):
            break
        headers.append(_from_json(data[used + LENGTHS.size : end].decode())[0])
        used = end
    return headers, used


def read_exactly(fd: int, count: int) -> bytes:
    """Read `count` bytes, also from a descriptor that somebody made non-blocking."""
    chunks: list[bytes] = []
    while count:
        try:
            chunk = os.read(fd, min(count, 1 << 20))
        except BlockingIOError:
            select.select([fd], [], [])
            continue
        if not chunk:
            raise Closed("end of stream")
        if len(chunk) == count and not chunks:
            return chunk
        chunks.append(chunk)
        count -= len(chunk)
    return b"".join(chunks)


def skip_past(fd: int, token: bytes) -> None:
    """Discard what an earlier reader left unread, up to and including `token`. The sender waits after it."""
    window = b""
    while not window.endswith(token):
        try:
            chunk = os.read(fd, 65536)
        except BlockingIOError:
            select.select([fd], [], [])
            continue
        if not chunk:
            raise Closed("end of stream")
        window = window[-len(token) :] + chunk
