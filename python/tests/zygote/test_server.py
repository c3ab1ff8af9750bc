"""Trouble with one enclosure stays its own: the zygote's loop goes on, and the host is told."""

from __future__ import annotations

import json
import os
import socket
import unittest
from collections.abc import Callable
from unittest import mock

from _vivarium import protocol
from _vivarium.zygote.openings import OpenEnclosure, Openings
from _vivarium.zygote.server import Server
from _vivarium.zygote.supply import Enclosure

FULL = OSError(24, "Too many open files")
NOBODY = 1 << 22  # a pid that no process has


class OneEnclosureTest(unittest.TestCase):
    """A server with one open enclosure, whose pid 1 is the test itself at the other end of the lifeline."""

    def setUp(self) -> None:
        self.host, control = socket.socketpair()
        self.server = Server(control.detach(), mock.Mock(), None, 0)
        self.inside, self.opened = self.open("s1", NOBODY)
        self.reports()
        self.addCleanup(self.host.close)
        self.addCleanup(os.close, self.server._host.fileno())

    def open(self, name: str, pid1: int) -> tuple[socket.socket, OpenEnclosure]:
        """Add an enclosure to the server."""
        lifeline, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        lifeline.setblocking(False)
        inside.setblocking(False)
        opened = OpenEnclosure(name, Enclosure(pid1, "home", 0, lifeline.detach(), (), None), 0)
        self.server._add(opened)
        self.addCleanup(inside.close)
        return inside, opened

    def reports(self) -> list[dict]:
        """Return everything that the host was told since the last call."""
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
        self.assertIsNone(self.server._pass({self.server._host.fileno()}))

    def is_ended(self) -> bool:
        """Return whether the server has hung up on the enclosure."""
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
            b'{"request": 1, "problem": null}',
            b'{"request": true, "problem": null}',
            b'{"request": 1e999, "problem": null}',
            b'{"status": -1}',
            b'{"status": 1152921504606846976}',
            b'{"status": 127, "more": 1}',
            b"OSError: [Errno 22] Invalid argument (pid1.py:46)",
            b"\xff\xfe",
            b"[" * 60_000,
        ):
            with self.subTest(nonsense[:40]):
                self.setUp()
                self.inside.send(nonsense)
                self.assertIsNone(self.server._pass({self.opened.walls.lifeline}))
                self.assertTrue(self.is_ended())
                self.assertEqual(self.reports(), [])
                self.assertIn(self.opened, self.server._opened.values())  # until its pid 1 is reaped
                self.assertRegex(self.opened.failure or "", "^its pid 1 broke the protocol: ")

    def test_an_answer_counts_only_from_the_enclosure_that_was_asked_and_once(self) -> None:
        other, opened = self.open("s2", NOBODY)
        self.reports()
        self.command(op="interrupt", enclosure="s1", request=7, pid=2)
        other.send(b'{"request": 7, "problem": "forged"}')
        self.server._pass({opened.walls.lifeline})
        self.assertEqual(self.reports(), [])
        self.assertEqual(other.recv(1), b"")
        for _ in range(2):
            self.inside.send(b'{"request": 7, "problem": null}')
        self.server._pass({self.opened.walls.lifeline})
        self.assertEqual(self.reports(), [{"event": "answer", "request": 7, "problem": None}])
        self.assertIn("nobody has asked for", self.opened.failure or "")

    def test_a_pid_1_can_tell_of_as_many_workers_as_it_was_given(self) -> None:
        self.command(op="wake", enclosure="s1", request=1, pid=2, dormant=[])
        for _ in range(2):
            self.inside.send(b'{"status": 9}')
        self.server._pass({self.opened.walls.lifeline})
        self.assertEqual([(one["event"], one["signal"]) for one in self.reports()], [("exited", 9)])
        self.assertIn("a worker that it does not have", self.opened.failure or "")

    def test_what_a_pid_1_says_at_last_is_told_when_it_is_gone_and_no_exit_before(self) -> None:
        inside, opened = self.open("s2", fork(lambda: None))
        opened.worker = fork(lambda: None)
        self.server._by_worker[opened.worker] = opened
        self.reports()
        inside.send(b'{"failure": "OSError: out of luck"}')
        self.wait_for(lambda: "s2" not in self.server._opened)
        cause = "its pid 1 failed: OSError: out of luck"
        self.assertEqual(self.reports(), [{"event": "gone", "enclosure": "s2", "cause": cause}])

    def test_an_enclosure_that_cannot_be_waited_on_is_not_opened(self) -> None:
        lifeline, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        opened = OpenEnclosure("s2", Enclosure(NOBODY, "home", 0, lifeline.fileno(), (), None), 0)
        self.server._epoll.register(lifeline)
        with lifeline, inside, self.assertRaises(FileExistsError):
            self.server._add(opened)
        self.assertNotIn("s2", self.server._opened)
        self.assertEqual(self.reports(), [])

    def test_a_request_that_fails_is_answered(self) -> None:
        with mock.patch.object(Server, "_cause_of", side_effect=FULL):
            self.command(op="oomed", enclosure="s1", request=7)
        self.assertEqual(
            self.reports(), [{"event": "answer", "request": 7, "problem": "OSError: [Errno 24] Too many open files"}]
        )
        self.assertTrue(self.is_ended())

    def test_an_opening_that_fails_is_reported_as_failed(self) -> None:
        with mock.patch.object(Openings, "_open", side_effect=ValueError("out of luck")):
            self.command(op="open", enclosure="s2")
        self.assertEqual(self.reports(), [{"event": "failed", "enclosure": "s2", "problem": "ValueError: out of luck"}])
        self.assertFalse(self.is_ended())

    def test_an_opening_that_is_closed_before_its_turn_is_gone_and_never_made(self) -> None:
        with mock.patch.object(Openings, "_open") as opening:
            frames = [{"op": "open", "enclosure": "s2"}, {"op": "close", "enclosure": "s2"}]
            self.host.sendall(b"".join(protocol.encode(frame) for frame in frames))
            self.server._pass({self.server._host.fileno()})
        opening.assert_not_called()
        self.assertEqual(self.reports(), [{"event": "gone", "enclosure": "s2", "cause": "closed"}])

    def test_an_interrupt_behind_many_openings_is_served_before_all_of_them(self) -> None:
        frames = [{"op": "open", "enclosure": f"n{n}"} for n in range(50)]
        frames.append({"op": "interrupt", "enclosure": "s1", "request": 9, "pid": 2})
        order: list[object] = []
        with mock.patch.object(Openings, "_open", side_effect=lambda command: order.append(command["enclosure"])):
            self.host.sendall(b"".join(protocol.encode(frame) for frame in frames))
            passes = 0
            while len(order) < 50:
                self.server._pass({self.server._host.fileno()} if passes == 0 else set())
                passes += 1
                if passes == 1:
                    self.assertEqual(json.loads(self.inside.recv(1000))["request"], 9)
        self.assertEqual(passes, 50)  # one at a time: others may have something urgent in between
        self.assertEqual(order, [f"n{n}" for n in range(50)])

    def test_a_command_that_lacks_its_fields_costs_its_enclosure(self) -> None:
        self.command(op="oomed", enclosure="s1")
        self.assertTrue(self.is_ended())
        self.command(op="oomed", enclosure="s1")
        self.command(op="interrupt")
        self.command(op="open")
        self.command(op="survey")
        self.command()  # and the loop goes on
        self.command(op="oomed", enclosure="unknown", request=1)
        self.assertIn({"event": "answer", "request": 1, "problem": "no such enclosure"}, self.reports())

    def test_a_pid_1_that_does_not_read_is_not_waited_for(self) -> None:
        for request in range(2000):
            self.command(op="interrupt", enclosure="s1", request=request, pid=2)
        self.assertTrue(any("does not listen" in str(report["problem"]) for report in self.reports()))

    def test_a_host_that_does_not_read_is_not_waited_for(self) -> None:
        for request in range(2000):
            self.command(op="oomed", enclosure="unknown", request=request)
        heard = []
        while len(heard) < 2000:
            heard += self.reports()
            self.server._host.flush()
        self.assertEqual([report["request"] for report in heard], list(range(2000)))

    def test_a_count_of_kills_that_cannot_be_read_changes_no_cause(self) -> None:
        for error in (FULL, FileNotFoundError(2, "gone"), ValueError("no numbers")):
            group = mock.Mock()
            group.oom_kills.side_effect = error
            self.opened.walls.group, self.opened.cause = group, "closed"
            self.assertEqual(self.server._cause_of(self.opened), "closed")

    def test_problems_are_cut(self) -> None:
        with mock.patch.object(Openings, "_open", side_effect=ValueError("x" * 100_000)):
            self.command(op="open", enclosure="s2")
        self.assertLessEqual(len(json.dumps(self.reports()[0])), 400)

    def test_no_surveyor_to_be_had_is_told_and_nothing_else_happens(self) -> None:
        with mock.patch("os.fork", side_effect=BlockingIOError(11, "Resource temporarily unavailable")):
            self.command(op="survey", token="t")
        self.assertEqual(self.reports(), [{"event": "unsurveyed"}])

    def test_whatever_fails_when_a_pid_1_has_ended_the_host_learns_that_it_is_gone(self) -> None:
        for name, place in (
            ("_cause_of", "_vivarium.zygote.server.Server._cause_of"),
            ("_join_problem", "_vivarium.zygote.server.Server._join_problem"),
            ("orphans", "_vivarium.zygote.server.end_orphans"),
            ("discard", "_vivarium.zygote.openings.Openings.discard"),
            ("close", "_vivarium.zygote.supply.Enclosure.close"),
        ):
            with self.subTest(name), mock.patch(place, side_effect=FULL):
                child = fork(lambda: None)
                self.open(name, child)
                self.reports()
                self.wait_for(lambda name=name: name not in self.server._opened)
                self.assertEqual([(one["event"], one["enclosure"]) for one in self.reports()], [("gone", name)])
        self.assertIn("s1", self.server._opened)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Have the server reap until something is so."""
        while not condition():
            self.assertIsNone(self.server._pass(set()))


def fork(program: Callable[[], None]) -> int:
    """Run a program in a process of its own."""
    pid = os.fork()
    if pid == 0:
        program()
        os._exit(0)
    return pid


if __name__ == "__main__":
    unittest.main()
