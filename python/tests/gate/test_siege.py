"""A hostile session and an honest one at the same gate: its memory and descriptors are bounded, and the honest one is served."""

from __future__ import annotations

import os
import socket
import statistics
import threading
import time
import unittest
from pathlib import Path

from .running import WAIT_S, GateTest, Session, pour

CONNECTIONS = 100  # of one session, at the same time: the default
MANY = 10_000
HELD = 500  # of so many, at the same time
ROUNDS = 20
MAX_GROWTH_MB = 30
MAX_SLOW_S = 1.0  # mostly for a busy machine


class SiegeTest(GateTest):
    """Two sessions with the limits that there are by default."""

    def setUp(self) -> None:
        """Serve both, and measure the gate before anything happens."""
        self.web, self.endless = self.origin(), self.origin(pour)
        gate = self.gate({"api.test": ["127.0.0.1"]}, {"burst": 200})
        ports = (self.web.port, self.endless.port)
        allow = [f"{host}:{port}" for host in ("api.test", "127.0.0.1") for port in ports]
        self.hostile, self.honest = gate.serve("hostile", allow), gate.serve("honest", allow)
        self.times = self.measure()  # warms it up as well
        self.descriptors, self.resident = self.count_descriptors(), self.resident_mb()

    @property
    def process(self) -> Path:
        return Path(f"/proc/{self.hostile.gate.process.pid}")

    def resident_mb(self) -> float:
        return int((self.process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def count_descriptors(self) -> int:
        return len(os.listdir(self.process / "fd"))

    def measure(self) -> list[float]:
        """Return how long the honest session waits for each of its requests."""
        times = []
        for _ in range(ROUNDS):
            start = time.monotonic()
            self.assertIn("200 OK", self.honest.get(f"http://api.test:{self.web.port}/"))
            times.append(time.monotonic() - start)
        return times

    def check_gate(self) -> None:
        """Nothing has grown beyond what one session may have, and the honest one is served meanwhile."""
        times = self.measure()
        self.assertLess(statistics.median(times), MAX_SLOW_S, f"before: {self.times}")
        self.assertLess(self.resident_mb() - self.resident, MAX_GROWTH_MB)
        self.assertLessEqual(self.count_descriptors() - self.descriptors, 2 * CONNECTIONS + 8)

    def told(self, session: Session, words: str) -> bool:
        """Whether the host was told of something."""
        return any(words in (one["reason"] or "") for one in session.gate.told if one["enclosure"] == session.name)

    def test_ten_thousand_connections_are_bounded_and_told(self) -> None:
        made, done = threading.Event(), threading.Event()
        flood = threading.Thread(target=self._flood, args=(made, done))
        flood.start()
        try:
            self.check_gate()  # while they are made
            self.assertTrue(made.wait(WAIT_S))
            self.check_gate()  # while the last ones are open
            self.hostile.gate.wait(lambda: self.told(self.hostile, "too many connections"))
        finally:
            done.set()
            flood.join()
        self.assertEqual({one["reason"] for one in self.hostile.gate.told if one["enclosure"] == "honest"}, {None})
        self.assertLess(len(self.hostile.gate.attempts), MANY / 5)

    def _flood(self, made: threading.Event, done: threading.Event) -> None:
        held: list[socket.socket] = []
        for _ in range(MANY):
            if done.is_set():
                break
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", self.hostile.http))
            held.append(one)
            if len(held) > HELD:
                held.pop(0).close()
        made.set()
        done.wait(WAIT_S)
        for one in held:
            one.close()

    def test_slow_readers_are_bounded(self) -> None:
        readers = [self.hostile.tunnel(f"api.test:{self.endless.port}")[1] for _ in range(CONNECTIONS)]
        for reader in readers:
            self.addCleanup(reader.close)
            reader.sendall(b"go")  # and nobody reads what a hundred servers send without end
        self.hostile.gate.wait(lambda: len(self._allowed()) == CONNECTIONS)
        received = self._received()
        while received < (received := self._received()):  # until all buffers are full
            self.check_gate()
        self.check_gate()

    def _allowed(self) -> list[dict]:
        return [one for one in self.hostile.gate.told if one["enclosure"] == "hostile" and one["decision"] == "allowed"]

    def _received(self) -> int:
        tally = self.hostile.gate.ask({"op": "tally", "enclosure": "hostile"})
        assert isinstance(tally, list)
        return sum(received for _, _, received in tally)


if __name__ == "__main__":
    unittest.main()
