"""Talks to the host on its private socket, in processes that no session is forked from.

What is said here never passes the zygote, whose memory every later session inherits.
"""

from __future__ import annotations

import json
import os
import socket

KINDS = ("control", "stdout", "stderr")
_CHUNK = 1 << 16


def connect_worker(path: str, ticket: str | None = None) -> tuple[str, list[int]]:
    """Connect a worker or a command to the host: control, stdout, stderr. Each is an open file description of its own.

    Returns a ticket by which the zygote can name the three to the host. Adding to them takes the token.
    """
    ticket, token = ticket or os.urandom(16).hex(), os.urandom(16).hex()
    fds: list[int] = []
    try:
        for kind in KINDS:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                _greet(connection, path, {"kind": kind, "ticket": ticket, "token": token})
                fds.append(connection.detach())
    except OSError:
        for fd in fds:
            os.close(fd)
        raise
    return ticket, fds


def ask(path: str, kind: str, enclosure: str) -> list[dict]:
    """Ask the host for something of an enclosure: its `mounts`, or the `targets` on the list of its network."""
    answer = bytearray()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        _greet(connection, path, {"kind": kind, "enclosure": enclosure})
        while chunk := connection.recv(_CHUNK):
            answer += chunk
    return json.loads(answer)


def _greet(connection: socket.socket, path: str, hello: dict[str, str]) -> None:
    connection.connect(path)
    connection.sendall(json.dumps(hello).encode() + b"\n")
