"""Trouble with one enclosure stays its own: the zygote's loop goes on, and the host is told."""

from __future__ import annotations

import json
import os
import socket
import unittest
from unittest import mock

from _vivarium import protocol
from _vivarium.zygote.server import Server
from _vivarium.zygote.supply import Enclosure, OpenEnclosure


class OneEnclosureTest(unittest.TestCase):
    """A server with one open enclosure, whose pid 1 is the test itself at the other end of the lifeline."""

    def setUp(self) -> None:
        host, control = socket.socketpair()
        self.host, self.pid1 = host, socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        lifeline, self.inside = self.pid1
        self.server = Server(control.detach(), mock.Mock(), None, 0)
        walls = Enclosure(1 << 22, "home", 0, lifeline.detach(), (), None)
        self.opened = OpenEnclosure("s1", walls, 0, 1 << 20)
        self.server._opened["s1"] = self.opened
        self.server._by_lifeline[walls.lifeline] = self.opened
        self.addCleanup(host.close)
        self.addCleanup(self.inside.close)

    def reports(self) -> list[dict]:
        """Return everything that the host was told."""
        self.host.setblocking(False)
        found = []
        while True:
            try:
                found.append(protocol.receive(self.host.fileno()) if self.host.recv(1, socket.MSG_PEEK) else None)
            except BlockingIOError:
                return found

    def command(self, **command: object) -> None:
        """Send a command of the host, and have it served."""
        self.host.sendall(protocol.encode(command))
        self.server._contained(self.server._control)

    def is_ended(self) -> bool:
        """Return whether the server has hung up on the enclosure."""
        self.inside.setblocking(False)
        try:
            return self.inside.recv(1) == b""
        except BlockingIOError:
            return False

    def test_nonsense_on_a_lifeline_ends_that_enclosure_alone(self) -> None:
        for nonsense in (
            b"not json",
            b"[]",
            b"{}",
            b"1",
            b'{"exited": 5}',
            b'{"request": 1}',
            b"\xff\xfe",
            b"[" * 60_000,
        ):
            with self.subTest(nonsense[:20]):
                self.setUp()
                self.inside.send(nonsense)
                self.assertIsNone(self.server._contained(self.opened.walls.lifeline))
                self.assertTrue(self.is_ended())
                self.assertIn(self.opened, self.server._opened.values())  # until its pid 1 is reaped

    def test_a_request_that_fails_is_answered(self) -> None:
        with mock.patch.object(Server, "_cause_of", side_effect=OSError(24, "Too many open files")):
            self.command(op="oomed", enclosure="s1", request=7)
        self.assertEqual(
            self.reports(), [{"event": "answer", "request": 7, "problem": "OSError: [Errno 24] Too many open files"}]
        )
        self.assertTrue(self.is_ended())

    def test_an_opening_that_fails_is_reported_as_failed(self) -> None:
        with mock.patch.object(Server, "_open", side_effect=ValueError("out of luck")):
            self.command(op="open", enclosure="s2")
        self.assertEqual(self.reports(), [{"event": "failed", "enclosure": "s2", "problem": "ValueError: out of luck"}])
        self.assertFalse(self.is_ended())

    def test_a_command_that_lacks_its_fields_costs_its_enclosure(self) -> None:
        self.command(op="oomed", enclosure="s1")
        self.assertTrue(self.is_ended())
        self.command(op="oomed", enclosure="s1")  # and the loop goes on

    def test_a_count_of_kills_that_cannot_be_read_changes_no_cause(self) -> None:
        group = mock.Mock()
        group.oom_kills.side_effect = OSError(24, "Too many open files")
        self.opened.walls.group, self.opened.cause = group, "closed"
        self.assertEqual(self.server._cause_of(self.opened), "closed")

    def test_problems_are_cut(self) -> None:
        with mock.patch.object(Server, "_open", side_effect=ValueError("x" * 100_000)):
            self.command(op="open", enclosure="s2")
        self.assertLessEqual(len(json.dumps(self.reports()[0])), 400)

    def tearDown(self) -> None:
        os.close(self.server._control)


if __name__ == "__main__":
    unittest.main()
