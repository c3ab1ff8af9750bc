"""A gate process with sessions that are only listeners, names of our own, and servers that lie in wait."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
from collections.abc import Callable
from pathlib import Path

from _vivarium import protocol

MAIN = Path(__file__).resolve().parents[2] / "_vivarium" / "gate" / "__main__.py"
WAIT_S = 20
Answers = dict[str, list[str] | list[list[str]]]


def entry(text: str) -> dict:
    """An entry as the host sends it, of `host:port`, `*.host:port` or `network:port`."""
    host, _, port = text.rpartition(":")
    ports = [int(port)]
    if host[0].isdigit() or host.startswith("["):
        return {"name": None, "isWildcard": False, "network": host.strip("[]"), "ports": ports}
    return {
        "name": host.removeprefix("*").removeprefix("."),
        "isWildcard": host.startswith("*"),
        "network": None,
        "ports": ports,
    }


class Names:
    """A name server. A name with several lists of addresses answers with the next one each time."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers: Answers = {}
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def address(self) -> list:
        return list(self._socket.getsockname())

    def close(self) -> None:
        self._socket.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                query, sender = self._socket.recvfrom(4096)
                self._socket.sendto(self._answer(query), sender)

    def _answer(self, query: bytes) -> bytes:
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1 : at + 1 + query[at]].decode())
            at += 1 + query[at]
        kind = struct.unpack_from(">H", query, at + 1)[0]
        name = ".".join(labels)
        addresses = self.answers.get(name, [])
        if kind == 1:
            self.asked.append(name)
        if addresses and isinstance(addresses[0], list):
            addresses = addresses[min(self.asked.count(name), len(addresses)) - 1]
        family = {1: socket.AF_INET, 28: socket.AF_INET6}[kind]
        packed = [socket.inet_pton(family, one) for one in addresses if (":" in one) == (kind == 28)]
        records = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(one)) + one for one in packed)
        return query[:2] + struct.pack(">HHHHH", 0x8180, 1, len(packed), 0, 0) + query[12 : at + 5] + records


class Origin:
    """A server that notes what it receives. `serve` gets each connection; by default it answers as HTTP and closes."""

    def __init__(self, serve: Callable[[socket.socket, Origin], None] | None = None, host: str = "127.0.0.1") -> None:
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self._serve = serve or answer_http
        self._listener = socket.create_server((host, 0), backlog=256)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._handle, args=(connection,), daemon=True).start()

    def _handle(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            self._serve(connection, self)


def answer_http(connection: socket.socket, origin: Origin) -> None:
    """Note the request with its body, and answer with `hello`."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    origin.heads.append(head.decode("latin-1"))
    lower = head.lower()
    if b"content-length:" in lower:
        size = int(lower.split(b"content-length:")[1].split(b"\r\n")[0])
        while len(body) < size:
            body += connection.recv(65536)
    elif b"transfer-encoding: chunked" in lower:
        while not body.endswith(b"0\r\n\r\n"):
            body += connection.recv(65536)
    origin.bodies.append(body)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nKeep-Alive: timeout=5\r\n\r\nhello")


def echo(connection: socket.socket, _: Origin) -> None:
    """Send back what comes."""
    while data := connection.recv(65536):
        connection.sendall(data)


def pour(connection: socket.socket, _: Origin) -> None:
    """Send without end."""
    connection.recv(65536)
    while True:
        connection.sendall(bytes(1 << 20))


class RunningGate:
    """A gate of its own. What it reports is in `attempts`."""

    def __init__(self, resolver: list | None = None, limits: dict | None = None) -> None:
        ours, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            [sys.executable, "-I", str(MAIN)],
            pass_fds=[],
            preexec_fn=lambda: os.dup2(theirs.fileno(), 3),
            close_fds=False,
        )
        theirs.close()
        self._channel = ours
        self._directory = tempfile.TemporaryDirectory()
        self._number = 0
        self._changed = threading.Condition()
        self._answers: dict[int, dict] = {}
        self._listeners: list[socket.socket] = []
        self._served: set[str] = set()
        self.told: list[dict] = []
        self.closed: list[dict] = []
        threading.Thread(target=self._read, daemon=True).start()
        self.ask({"op": "configure", "resolver": resolver, "limits": limits or {}})

    def ask(self, message: dict) -> object:
        """Have the gate do something, and return what it answers."""
        self._number += 1
        number = self._number
        self._channel.sendall(protocol.encode({**message, "request": number}))
        with self._changed:
            assert self._changed.wait_for(lambda: number in self._answers, WAIT_S), "the gate does not answer"
        answer = self._answers[number]
        assert answer["problem"] is None, answer["problem"]
        return answer["value"]

    def serve(
        self, name: str, allow: list[str], deny: tuple[str, ...] | list[str] = (), secrets: tuple | list = ()
    ) -> Session:
        """Open a session with these lists."""
        listeners = [socket.create_server(("127.0.0.1", 0), backlog=128) for _ in range(2)]
        self._served.add(name)
        self._number += 1
        path = f"{self._directory.name}/{name}-{self._number}"
        handover = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        handover.bind(path)
        handover.listen()
        self._listeners += [*listeners, handover]
        threading.Thread(target=_hand_over, args=(handover, listeners), daemon=True).start()
        order = {
            "enclosure": name,
            "socket": path,
            "allow": [entry(one) for one in allow],
            "deny": [entry(one) for one in deny],
        }
        self.ask({"op": "serve", **order, "secrets": list(secrets)})
        return Session(self, name, *(one.getsockname()[1] for one in listeners))

    @property
    def attempts(self) -> list[dict]:
        """What was reported of everything that has happened so far."""
        self.ask({"op": "tally", "enclosure": ""})
        return self.told

    def begin(self) -> None:
        """Forget all sessions, and what was reported of them."""
        for name in self._served:
            self.ask({"op": "leave", "enclosure": name})
        self._served.clear()
        self.told.clear()
        self.closed.clear()

    def let_go(self) -> None:
        """Close our own copies of all listeners."""
        for listener in self._listeners:
            listener.close()

    def wait(self, is_true: Callable[[], object]) -> None:
        """Wait until something was reported."""
        with self._changed:
            assert self._changed.wait_for(is_true, WAIT_S), self.told

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)  # closing alone would not wake the thread that reads
        self._channel.close()
        self.process.wait(WAIT_S)
        for listener in self._listeners:
            listener.close()
        self._directory.cleanup()

    def _read(self) -> None:
        with contextlib.suppress(protocol.Closed, OSError):
            while True:
                event = protocol.receive(self._channel.fileno())
                with self._changed:
                    if event["event"] == "answer":
                        self._answers[event["request"]] = event
                    else:
                        (self.told if event["event"] == "attempt" else self.closed).append(event)
                    self._changed.notify_all()


def _hand_over(handover: socket.socket, listeners: list[socket.socket]) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = handover.accept()
            kinds = [{"kind": "http"}, {"kind": "socks"}]
            socket.send_fds(connection, [json.dumps(kinds).encode()], [one.fileno() for one in listeners])
            connection.close()


class Session:
    """What a program in a session has of the gate: two ports."""

    def __init__(self, gate: RunningGate, name: str, http: int, socks: int) -> None:
        self.gate = gate
        self.name = name
        self.http = http
        self.socks = socks

    def connect(self, port: int | None = None) -> socket.socket:
        return socket.create_connection(("127.0.0.1", port or self.http), WAIT_S)

    def send(self, text: str | bytes) -> str:
        """Send something to the HTTP proxy and return all that it answers."""
        with self.connect() as connection:
            connection.sendall(text.encode("latin-1") if isinstance(text, str) else text)
            connection.shutdown(socket.SHUT_WR)
            return read_all(connection).decode("latin-1")

    def get(self, url: str, host: str | None = None) -> str:
        """Ask for an http:// address."""
        named = host or url.removeprefix("http://").split("/")[0].split("?")[0]
        return self.send(f"GET {url} HTTP/1.1\r\nHost: {named}\r\n\r\n")

    def tunnel(self, target: str) -> tuple[str, socket.socket]:
        """Ask for a tunnel; returns the first line of the answer, and the connection."""
        connection = self.connect()
        connection.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode("latin-1"))
        answer = b""
        while b"\r\n\r\n" not in answer and (data := connection.recv(1)):  # what follows is not ours to read
            answer += data
        return answer.decode("latin-1").split("\r\n")[0], connection

    def refused(self, target: str) -> str:
        """Ask for a tunnel that must be refused; returns the reason."""
        line, connection = self.tunnel(target)
        connection.close()
        assert line.startswith("HTTP/1.1 403 "), line
        return line

    def ask_socks(self, host: bytes, port: int, kind: int, command: int = 1) -> tuple[int, socket.socket]:
        """Ask the SOCKS proxy; returns its code, and the connection."""
        connection = self.connect(self.socks)
        connection.sendall(b"\x05\x01\x00")
        assert connection.recv(2) == b"\x05\x00"
        length = bytes([len(host)]) if kind == 3 else b""
        connection.sendall(bytes([5, command, 0, kind]) + length + host + struct.pack(">H", port))
        return connection.recv(10)[1], connection


def read_all(connection: socket.socket) -> bytes:
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            data += piece
    return data


class GateTest(unittest.TestCase):
    """A gate and names for all tests of a class, and servers that end with the test."""

    names: Names
    _usual: RunningGate

    @classmethod
    def setUpClass(cls) -> None:
        """Start the gate."""
        cls.names = Names()
        cls.addClassCleanup(cls.names.close)
        cls._usual = RunningGate(cls.names.address)
        cls.addClassCleanup(cls._usual.close)

    def gate(self, names: Answers | None = None, limits: dict | None = None) -> RunningGate:
        """Return the gate with these names; with limits of its own, another one."""
        self.names.answers = names or {}
        self.names.asked.clear()
        if limits:
            gate = RunningGate(self.names.address, limits)
            self.addCleanup(gate.close)
            return gate
        self._usual.begin()
        return self._usual

    def origin(self, serve: Callable[[socket.socket, Origin], None] | None = None, host: str = "127.0.0.1") -> Origin:
        origin = Origin(serve, host)
        self.addCleanup(origin.close)
        return origin
