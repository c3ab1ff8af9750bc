"""A pid 1 starts commands, signals them, spares them when it sweeps, and says how they ended."""

from __future__ import annotations

import json
import os
import signal
import socket
import unittest

from _vivarium import protocol
from _vivarium.enclosure import lifeline
from _vivarium.enclosure.lifeline import Answer, CommandExit, Message
from _vivarium.enclosure.subreaper import Subreaper
from _vivarium.worker.join import Admission, WorkerSettings

BIG = 1 << 30
SETTINGS = WorkerSettings(
    level="none",
    privileged=False,
    uid=os.getuid(),
    workspace="/",
    rollback="/",
    shared_memory=False,
    environment={"PATH": "/usr/bin:/bin", "BOTH": "session"},
    read_only=(),
    twin_delay_s=0.0,
)
ADMISSION = Admission(
    network=False,
    listed=False,
    memory_bytes=BIG,
    data_bytes=BIG,
    processes=10_000,
    open_files=100,
    file_bytes=BIG,
    rollback_bytes=BIG,
    has_mounts=False,
    keeps_workspace=False,
    twins=False,
    is_first=False,
)


class CommandTest(unittest.TestCase):
    """A real one that stands in for pid 1, with the test as its zygote and host."""

    def setUp(self) -> None:
        self.zygote, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.zygote.settimeout(10)
        self.pid = os.fork()
        if self.pid == 0:
            self.zygote.close()
            Subreaper(inside, 0).serve()
        inside.close()

    def tearDown(self) -> None:
        self.zygote.close()
        os.waitpid(self.pid, 0)

    def start(self, command: int, *argv: str, **variables: str) -> tuple[socket.socket, socket.socket, int]:
        """Start a command. Returns its input, its output and its pid."""
        pairs = [socket.socketpair() for _ in range(3)]
        own = {"settings": vars(SETTINGS), "admission": vars(ADMISSION)}
        order = json.dumps({"op": "exec", "request": 1, "command": command, **own}).encode()
        socket.send_fds(self.zygote, [order], [theirs.fileno() for _, theirs in pairs])
        for ours, theirs in pairs:
            theirs.close()
            ours.settimeout(10)
            self.addCleanup(ours.close)
        self.assertEqual(self.said(), Answer(1, None))
        control, output, _ = (ours for ours, _ in pairs)
        message = {"argv": argv, "directory": "tmp", "variables": variables, "mounts": []}
        protocol.send(control.fileno(), message)
        greeting = protocol.receive(control.fileno())
        self.assertIsNone(greeting["problem"])
        return control, output, greeting["pid"]

    def ask(self, **command: object) -> None:
        """Send another command to pid 1."""
        self.zygote.send(json.dumps({"request": 2, **command}).encode())

    def said(self) -> Message:
        """Return the next message, as the zygote understands it."""
        return lifeline.decode(self.zygote.recv(lifeline.MAX_MESSAGE + 1))

    def test_its_streams_directory_variables_and_exit_code_are_its_own(self) -> None:
        control, output, _ = self.start(7, "sh", "-c", "pwd; echo $BOTH $OWN; cat; exit 9", BOTH="command", OWN="1")
        control.sendall(b"input")
        control.shutdown(socket.SHUT_WR)
        self.assertEqual(self.said(), CommandExit(7, 9 << 8))
        self.assertEqual(protocol.read_exactly(output.fileno(), 20), b"/tmp\ncommand 1\ninput")
        self.assertEqual(output.recv(1), b"")

    def test_what_is_not_there_ends_as_in_a_shell(self) -> None:
        self.start(1, "no-such-program")
        self.assertEqual(self.said(), CommandExit(1, 127 << 8))

    def test_it_is_signalled_until_it_has_ended(self) -> None:
        self.start(3, "sleep", "1000")
        self.ask(op="signal", command=3, signal=signal.SIGTERM)
        self.assertEqual(
            sorted(map(str, (self.said(), self.said()))), sorted(map(str, (Answer(2, None), CommandExit(3, 15))))
        )
        for command in (3, 99):
            self.ask(op="signal", command=command, signal=signal.SIGKILL)
            self.assertEqual(self.said(), Answer(2, "it has ended"))

    def test_a_sweep_spares_it_with_what_it_has_started_if_it_is_told_to(self) -> None:
        control, output, pid = self.start(5, "sh", "-c", "read line; echo $line; (sleep 1000 & wait)")
        self.ask(op="sweep", keep=[], spares=True)
        self.assertEqual(self.said(), Answer(2, None))
        control.sendall(b"still here\n")
        self.assertEqual(protocol.read_exactly(output.fileno(), 11), b"still here\n")
        self.ask(op="sweep", keep=[], spares=False)
        found = {str(self.said()), str(self.said())}
        self.assertEqual(found, {str(CommandExit(5, 9)), str(Answer(2, None))})
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)


if __name__ == "__main__":
    unittest.main()
