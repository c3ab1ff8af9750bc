"""A pid 1 answers commands, and says why it ends; it says nothing that the zygote does not know."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import unittest

from _vivarium.enclosure import lifeline
from _vivarium.enclosure.lifeline import MAX_PID, MAX_PROBLEM, Answer, Failure, Message, Unexpected, WorkerExit
from _vivarium.enclosure.subreaper import Subreaper

NOBODY = 1 << 21


class LifelineTest(unittest.TestCase):
    """A real one that stands in for pid 1 and has a worker. Below it, nothing is known of other processes."""

    def setUp(self) -> None:
        self.zygote, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.zygote.settimeout(10)
        worker_end, self.test_end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self.zygote.close()
            os.close(self.test_end)
            worker = os.fork()
            if worker == 0:
                inside.close()
                os.read(worker_end, 1)  # until the test is over
                os._exit(0)
            Subreaper(inside, worker).serve()
        inside.close()
        os.close(worker_end)
        self.ask(op="interrupt", pid=NOBODY)
        self.assertEqual(self.said(), Answer(1, f"process {NOBODY}: No such process"))

    def tearDown(self) -> None:
        self.zygote.close()
        os.close(self.test_end)
        os.waitpid(self.pid, 0)

    def ask(self, **command: object) -> None:
        """Send a command."""
        self.zygote.send(json.dumps({"request": 1, **command}).encode())

    def said(self) -> Message:
        """Return the next message, as the zygote understands it."""
        return lifeline.decode(self.zygote.recv(lifeline.MAX_MESSAGE + 1))

    def test_a_twin_that_no_process_can_be_is_a_problem_and_no_more(self) -> None:
        for pid in (2**40, 2**63, 2**70, MAX_PID + 1, 1, 0, -1, -(2**31)):
            self.ask(op="interrupt", pid=pid)
            self.assertEqual(self.said(), Answer(1, f"{pid} is not a process of the session"))
        self.ask(op="wake", pid=2**40, dormant=[2**40, 2**70])
        self.assertEqual(self.said(), Answer(1, f"{2**40} is not a process of the session"))
        self.ask(op="sweep", keep=[2**70])
        self.assertEqual(self.said(), Answer(1, None))

    def test_what_it_cannot_do_ends_it_with_a_reason(self) -> None:
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (0, 0))
        os.kill(self.pid, signal.SIGCHLD)  # it wakes up, and cannot wait any more
        self.assertEqual(self.said(), Failure("OSError: [Errno 22] Invalid argument"))
        self.assertEqual(self.zygote.recv(1), b"")

    def test_a_command_that_makes_no_sense_ends_it_with_a_reason(self) -> None:
        self.ask(op="wake")
        self.assertEqual(self.said(), Failure("KeyError: 'pid'"))


class MessagesTest(unittest.TestCase):
    def test_every_message_arrives_as_it_was_sent(self) -> None:
        for message in (Answer(7, None), Answer(7, "no"), WorkerExit(9), WorkerExit(0), Failure("broken")):
            self.assertEqual(lifeline.decode(lifeline.encode(message)), message)

    def test_texts_are_cut_and_then_fit(self) -> None:
        for letter in ("x", "é", "\U0001f600", "\ud800"):
            sent = lifeline.encode(Failure(letter * 100_000))
            self.assertEqual(lifeline.decode(sent), Failure(letter * MAX_PROBLEM))

    def test_nothing_else_is_a_message(self) -> None:
        for data in (b"", b"ready", b"null", b"[7]", b'{"request": 7}', b'{"failure": 5}', b'{"status": 9.0}', b"\x00"):
            with self.subTest(data), self.assertRaises(Unexpected):
                lifeline.decode(data)
        with self.assertRaises(Unexpected):
            lifeline.decode(json.dumps({"failure": "x" * (MAX_PROBLEM + 1)}).encode())


if __name__ == "__main__":
    unittest.main()
