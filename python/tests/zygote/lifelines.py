"""Has a zygote hear what comes in on standard input, each message from a pid 1 of its own, beside an honest one.

A message is four bytes of length and its bytes. Prints as JSON what became of them, and what must not have happened.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from unittest import mock

from _vivarium import protocol
from _vivarium.enclosure import lifeline
from _vivarium.zygote.openings import OpenEnclosure
from _vivarium.zygote.server import Server
from _vivarium.zygote.supply import Enclosure

NOBODY = 1 << 22  # pids from here on are of no process
MOST_S = 1.0  # of processor time, since the machine may be busy
PATIENCE_S = 60.0
MAX_PACKET = 100_000  # more than that is no message of this kind of socket


class Scene:
    """A server with an honest enclosure, and one at a time that is not."""

    def __init__(self) -> None:
        self.host, control = socket.socketpair()
        self.host.setblocking(False)
        self.server = Server(control.detach(), mock.Mock(), None, 0)
        self.counts = {"frames": 0, "enclosuresEnded": 0, "accepted": 0, "told": 0}
        self.problems: list[str] = []
        self.honest, self.witness = self._open("honest", NOBODY)
        self._requests = 0

    def try_message(self, data: bytes) -> None:
        """Let a pid 1 say something, and see what becomes of it and of the others."""
        self.counts["frames"] += 1
        number = self.counts["frames"]
        inside, opened = self._open(f"s{number}", NOBODY + number)
        self._command(op="wake", enclosure=opened.id, request=-1, pid=2, dormant=[])
        self._reports()
        start = time.process_time()
        inside.send(data[:MAX_PACKET])
        self._pass(opened)
        told = self._finish(inside, opened)
        self._check_witness()
        if time.process_time() - start > MOST_S:
            self.problems.append(f"message {number} took {time.process_time() - start:.1f} s")
        if told:
            self.problems.append(f"message {number}: {told}")

    def _finish(self, inside: socket.socket, opened: OpenEnclosure) -> str | None:
        """Have pid 1 be reaped. Returns what the host was not told."""
        with inside:
            is_ended = opened.failure is not None
            self.server._contained(self.server._bury, opened.walls.pid1, 9, give_up=self.server._give_up_process)
        reports = self._reports()
        self.counts["enclosuresEnded" if is_ended else "accepted"] += 1
        if opened.id in self.server._opened or opened in self.server._by_lifeline.values():
            return "the zygote still knows it"
        gone = [report for report in reports if report["event"] == "gone"]
        if [report["enclosure"] for report in gone] != [opened.id]:
            return f"the host was told {reports}"
        if is_ended and not str(gone[0]["cause"]).startswith(("its pid 1 broke the protocol: ", "its pid 1 failed: ")):
            return f"the host was told {gone[0]['cause']!r}"
        self.counts["told"] += is_ended
        return None

    def _check_witness(self) -> None:
        """The honest pid 1 gets a command, and its answer arrives."""
        self._requests += 1
        self._command(op="interrupt", enclosure="honest", request=self._requests, pid=2)
        self.honest.recv(1000)
        self.honest.send(lifeline.encode(lifeline.Answer(self._requests, None)))
        self._pass(self.witness)
        if self._reports() != [{"event": "answer", "request": self._requests, "problem": None}]:
            self.problems.append(f"after message {self.counts['frames']} the witness was not heard")

    def _open(self, name: str, pid1: int) -> tuple[socket.socket, OpenEnclosure]:
        outside, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        outside.setblocking(False)
        inside.settimeout(PATIENCE_S)
        opened = OpenEnclosure(name, Enclosure(pid1, "home", 0, outside.detach(), (), None), 0)
        self.server._add(opened)
        return inside, opened

    def _command(self, **command: object) -> None:
        self.host.send(protocol.encode(command))
        self.server._pass({self.server._host.fileno()})

    def _pass(self, opened: OpenEnclosure) -> None:
        self.server._pass({opened.walls.lifeline})

    def _reports(self) -> list[dict]:
        try:
            return protocol.cut(self.host.recv(1 << 20))[0]
        except BlockingIOError:
            return []


def main() -> None:
    """Read all messages."""
    scene = Scene()
    with mock.patch("_vivarium.zygote.server.end_orphans"):  # those would be children of this test
        while prefix := sys.stdin.buffer.read(4):
            scene.try_message(sys.stdin.buffer.read(struct.unpack(">I", prefix)[0]))
    json.dump({"counts": scene.counts, "problems": scene.problems[:20]}, sys.stdout)


if __name__ == "__main__":
    main()
