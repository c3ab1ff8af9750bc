"""A pid 1 answers commands, and says why it ends; it says nothing that the zygote does not know."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import socket
import time
import unittest
from collections.abc import Callable

from _vivarium.confine import kernel
from _vivarium.enclosure import lifeline
from _vivarium.enclosure.lifeline import (
    MAX_PID,
    MAX_PROBLEM,
    Answer,
    CommandExit,
    Failure,
    Message,
    Unexpected,
    WorkerExit,
)
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
                signal.signal(signal.SIGINT, signal.SIG_DFL)
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
        self.ask(op="sweep", keep=[2**70], spares=False)
        self.assertEqual(self.said(), Answer(1, None))

    def test_only_descendants_are_signalled(self) -> None:
        noted, note = os.pipe()
        stranger = os.fork()
        if stranger == 0:
            self.zygote.close()
            os.close(self.test_end)
            for number in (signal.SIGINT, signal.SIGUSR1):
                signal.signal(number, lambda received, _: os.write(note, bytes([received])))
            os.write(note, b"x")
            while True:
                signal.pause()
        self.addCleanup(os.waitpid, stranger, 0)
        self.addCleanup(os.kill, stranger, signal.SIGKILL)
        self.assertEqual(os.read(noted, 1), b"x")
        for pid in (stranger, self.pid):
            self.ask(op="interrupt", pid=pid)
            self.assertEqual(self.said(), Answer(1, f"{pid} is not a process of the session"))
        self.ask(op="wake", pid=stranger, dormant=[])
        while isinstance(message := self.said(), WorkerExit):
            continue
        self.assertEqual(message, Answer(1, f"{stranger} is not a process of the session"))
        os.kill(stranger, signal.SIGUSR1)
        self.assertEqual(os.read(noted, 10), bytes([signal.SIGUSR1]))

    def test_a_descendant_is_signalled_and_swept(self) -> None:
        with open(f"/proc/{self.pid}/task/{self.pid}/children") as file:
            worker = int(file.read())
        self.ask(op="interrupt", pid=worker)
        self.assertEqual(
            sorted([str(self.said()), str(self.said())]), sorted(map(str, (WorkerExit(2), Answer(1, None))))
        )

    def test_what_it_cannot_do_ends_it_with_a_reason(self) -> None:
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (0, 0))
        os.kill(self.pid, signal.SIGCHLD)  # it wakes up, and cannot wait any more
        self.assertEqual(self.said(), Failure("OSError: [Errno 22] Invalid argument"))
        self.assertEqual(self.zygote.recv(1), b"")

    def test_a_command_that_makes_no_sense_ends_it_with_a_reason(self) -> None:
        self.ask(op="wake")
        self.assertEqual(self.said(), Failure("KeyError: 'pid'"))


class EndingTest(unittest.TestCase):
    """When the lifeline closes, nothing of a session is left, whatever it does meanwhile."""

    def assert_all_ended(self, work: Callable[[], object], times: int) -> None:
        """End a session that does `work` again and again, and wait until no process of it holds a pipe."""
        read_end, write_end = os.pipe()
        for _ in range(times):
            zygote, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            guard = os.fork()
            if guard == 0:
                zygote.close()
                os.close(read_end)
                kernel.become_subreaper()
                worker = os.fork()
                while worker == 0:
                    work()
                Subreaper(inside, worker).serve()
            inside.close()
            time.sleep(0.02)
            zygote.close()
            os.waitpid(guard, 0)
        os.close(write_end)
        self.assertEqual(select.select([read_end], [], [], 5)[0], [read_end], "a process is left")
        self.assertEqual(os.read(read_end, 1), b"")
        os.close(read_end)

    def test_with_a_worker_that_forks_twins(self) -> None:
        def fork_sleeper() -> None:
            if os.fork() == 0:
                signal.pause()
            time.sleep(0.0005)

        self.assert_all_ended(fork_sleeper, 10)

    def test_with_a_program_that_forks_itself_and_ends(self) -> None:
        self.assert_all_ended(lambda: os.fork() == 0 or os._exit(0), 5)


COMMAND = b'{"command": "3", "status": 9}'


class MessagesTest(unittest.TestCase):
    def test_every_message_arrives_as_it_was_sent(self) -> None:
        ends = (WorkerExit(9), WorkerExit(0), CommandExit(3, 0), CommandExit(4, 127 << 8))
        for message in (Answer(7, None), Answer(7, "no"), *ends, Failure("broken")):
            self.assertEqual(lifeline.decode(lifeline.encode(message)), message)

    def test_texts_are_cut_and_then_fit(self) -> None:
        for letter in ("x", "é", "\U0001f600", "\ud800"):
            sent = lifeline.encode(Failure(letter * 100_000))
            self.assertEqual(lifeline.decode(sent), Failure(letter * MAX_PROBLEM))

    def test_nothing_else_is_a_message(self) -> None:
        for data in (
            b"",
            b"ready",
            b"null",
            b"[7]",
            b'{"request": 7}',
            b'{"failure": 5}',
            b'{"status": 9.0}',
            b"\x00",
            COMMAND,
        ):
            with self.subTest(data), self.assertRaises(Unexpected):
                lifeline.decode(data)
        with self.assertRaises(Unexpected):
            lifeline.decode(json.dumps({"failure": "x" * (MAX_PROBLEM + 1)}).encode())


if __name__ == "__main__":
    unittest.main()
