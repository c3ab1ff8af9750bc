"""What a session may have of the gate: connections, time and bytes, and what happens when it leaves."""

from __future__ import annotations

import contextlib
import signal
import socket
import time
import unittest
from pathlib import Path

from .running import WAIT_S, GateTest, Origin, Session, echo, pour, read_all


class LimitsTest(GateTest):
    """A gate with tight limits."""

    def session(self, limits: dict, server: Origin) -> Session:
        gate = self.gate({"api.test": ["127.0.0.1"]}, limits)
        self.host = f"api.test:{server.port}"
        return gate.serve("s1", [self.host, f"127.0.0.1:{server.port}"])

    def tunnels(self, session: Session, count: int) -> list[socket.socket]:
        found = [session.tunnel(self.host)[1] for _ in range(count)]
        for connection in found:
            self.addCleanup(connection.close)
        return found

    def test_too_many_connections_at_the_same_time_are_refused_and_told(self) -> None:
        session = self.session({"connections": 5}, self.origin(echo))
        kept = self.tunnels(session, 5)
        line, connection = self.lost(session)
        self.assertEqual(line, "")
        connection.close()
        self.assertIn("too many connections", session.gate.attempts[-1]["reason"])
        kept[0].close()
        session.gate.wait(lambda: session.gate.closed)
        self.assertIn("200", session.tunnel(self.host)[0])

    def lost(self, session: Session) -> tuple[str, socket.socket]:
        try:
            return session.tunnel(self.host)
        except ConnectionResetError:
            return "", socket.socket()

    def test_the_connections_of_all_sessions_are_bounded_too(self) -> None:
        session = self.session({"all_connections": 3}, self.origin(echo))
        self.tunnels(session, 3)
        other = session.gate.serve("s2", [self.host, "127.0.0.1:1"])
        self.assertEqual(self.lost(other)[0], "")

    def test_new_connections_are_paced(self) -> None:
        session = self.session({"per_second": 20, "burst": 5}, self.origin())
        start = time.monotonic()
        for _ in range(15):
            session.refused("evil.test:443")
        self.assertGreater(time.monotonic() - start, 0.3)  # ten above the burst, at twenty in a second
        self.assertEqual(len(session.gate.attempts), 15)

    def test_a_request_that_never_ends_is_ended(self) -> None:
        session = self.session({"head_s": 0.5}, self.origin())
        with session.connect() as connection:
            start = time.monotonic()
            with contextlib.suppress(OSError):
                for byte in b"GET http://api.test/ HTTP/1.1\r\nX: slow" * 100:
                    connection.sendall(bytes([byte]))
                    time.sleep(0.05)
                    if time.monotonic() - start > WAIT_S / 2:
                        break
            self.assertLess(time.monotonic() - start, WAIT_S / 2)
        self.assertIn("in time", session.gate.attempts[-1]["reason"])

    def test_a_half_greeting_of_socks_and_of_tls_is_ended(self) -> None:
        session = self.session({"head_s": 0.5}, self.origin(echo))
        with session.connect(session.socks) as connection:
            connection.sendall(b"\x05\x02\x00")
            self.assertEqual(read_all(connection), b"")
        _, connection = session.tunnel(self.host)
        with connection:
            connection.sendall(b"\x16\x03\x01\x02\x00half")
            self.assertEqual(read_all(connection), b"")

    def test_silent_connections_are_ended(self) -> None:
        session = self.session({"idle_s": 0.5}, self.origin(echo))
        (connection,) = self.tunnels(session, 1)
        connection.sendall(b"ping")
        self.assertEqual(connection.recv(4), b"ping")
        self.assertEqual(read_all(connection), b"")

    def test_half_open_connections_are_ended_sooner(self) -> None:
        def hold(connection: socket.socket, _: Origin) -> None:
            while connection.recv(65536):
                pass
            time.sleep(WAIT_S)

        session = self.session({"half_open_s": 0.5}, self.origin(hold))
        (connection,) = self.tunnels(session, 1)
        connection.sendall(b"ping")
        connection.shutdown(socket.SHUT_WR)
        start = time.monotonic()
        self.assertEqual(read_all(connection), b"")
        self.assertLess(time.monotonic() - start, WAIT_S / 2)

    def test_bytes_are_bounded_and_the_end_is_told(self) -> None:
        session = self.session({"session_bytes": 3 << 20}, self.origin(pour))
        (connection,) = self.tunnels(session, 1)
        connection.sendall(b"go")
        self.assertLess(len(read_all(connection)), 4 << 20)
        self.assertIn("sent and received 3145728 bytes", session.gate.attempts[-1]["reason"])
        self.assertIn("the most that it may", session.refused(self.host))

    def test_a_tally_counts_what_is_open(self) -> None:
        session = self.session({}, self.origin(echo))
        (connection,) = self.tunnels(session, 1)
        connection.sendall(b"12345")
        connection.recv(5)
        number = session.gate.attempts[-1]["id"]
        self.assertEqual(session.gate.ask({"op": "tally", "enclosure": "s1"}), [[number, 5, 5]])
        self.assertEqual(session.gate.ask({"op": "tally", "enclosure": "unknown"}), [])

    def test_a_session_that_left_reaches_nothing_any_more(self) -> None:
        session = self.session({}, self.origin(echo))
        (connection,) = self.tunnels(session, 1)
        session.gate.ask({"op": "leave", "enclosure": "s1"})
        self.assertEqual(read_all(connection), b"")
        with session.connect() as waiting:  # nobody accepts it
            waiting.settimeout(0.3)
            waiting.sendall(b"CONNECT api.test:1 HTTP/1.1\r\n\r\n")
            with self.assertRaises(TimeoutError):
                waiting.recv(1)
        session.gate.let_go()
        with self.assertRaises(ConnectionRefusedError):  # the gate has kept nothing of its network
            session.connect()

    def test_the_gate_has_no_powers_and_ends_with_its_host(self) -> None:
        session = self.session({"burst": 9}, self.origin())
        status = Path(f"/proc/{session.gate.process.pid}/status").read_text()
        self.assertRegex(status, r"CapEff:\s+0+\n")
        self.assertRegex(status, r"NoNewPrivs:\s+1\n")
        session.gate.close()
        self.assertEqual(session.gate.process.returncode, 0)
        self.assertNotEqual(session.gate.process.returncode, -signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
