"""Frames on a stream socket: two lengths, a JSON header, raw bytes."""

from __future__ import annotations

import json
import os
import select
import struct

LENGTHS = struct.Struct(">II")
MAX_FRAME = 64 << 20
_to_json = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode  # `json.dumps` would make one each time


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
            view = view[os.write(fd, view[:1 << 20]):]
        except BlockingIOError:
            select.select([], [fd], [])


def receive(fd: int) -> tuple[dict[str, object], bytes]:
    """Read one frame, whole; `Closed` at the end of the stream."""
    text_length, payload_length = LENGTHS.unpack(read_exactly(fd, LENGTHS.size))
    if text_length + payload_length > MAX_FRAME:
        raise Closed(f"a frame of {text_length + payload_length} bytes")
    return json.loads(read_exactly(fd, text_length)), read_exactly(fd, payload_length)


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
        chunks.append(chunk)
        count -= len(chunk)
    return b"".join(chunks)


def skip_past(fd: int, token: bytes) -> None:
    """Discard input up to and including `token`, after which the sender waits: whatever an earlier reader left unread."""
    window = b""
    while not window.endswith(token):
        try:
            chunk = os.read(fd, 65536)
        except BlockingIOError:
            select.select([fd], [], [])
            continue
        if not chunk:
            raise Closed("end of stream")
        window = window[-len(token):] + chunk
