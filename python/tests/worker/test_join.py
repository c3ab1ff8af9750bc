"""Tests of joining an enclosure."""

from __future__ import annotations

import os
import resource
import socket
import unittest
from unittest import mock

from _vivarium.confine import landlock, limits
from _vivarium.worker.join import CONTROL, GO, PRIVATE_FDS, Admission, WorkerSettings, join, move_low
from _vivarium.zygote.workers import WaitingWorker, report_failure

from tests.confine.confined import in_child

HERE = WorkerSettings("landlock", False, os.getuid(), "/tmp", "/tmp", False, {"TMPDIR": "/tmp"}, (), 0.02)
WISHES = Admission(False, 1 << 30, 1 << 30, 64, 2 * CONTROL, 1 << 20, 0, (), False, True, False)


class MoveLowTest(unittest.TestCase):
    def test_descriptors_in_the_private_range_are_moved(self) -> None:
        def move() -> list[object]:
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * CONTROL), hard))
            read_end, write_end = os.pipe()
            high = CONTROL + PRIVATE_FDS - 1
            os.dup2(read_end, high)
            low = move_low(high)
            os.write(write_end, b"x")
            return [low < CONTROL, os.read(low, 1) == b"x", move_low(low) == low]

        self.assertEqual(in_child(move), [True, True, True])


class JoinTest(unittest.TestCase):
    def test_a_worker_whose_walls_cannot_close_reports_why(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        worker = os.fork()
        if worker == 0:
            channel = theirs.detach()
            go, permit = os.pipe()
            os.write(permit, GO)
            limits.raise_open_files()
            try:
                with mock.patch.object(landlock, "restrict", return_value=0):
                    join(channel, go, HERE)
            except BaseException as error:
                report_failure(channel, error)
            os._exit(0)
        theirs.close()
        waiting = WaitingWorker(worker, -1, ours.detach())
        waiting.admit(WISHES, [0, 1, 2])
        os.waitpid(worker, 0)
        self.assertIn("Landlock is not available", waiting.failure_text() or "")


if __name__ == "__main__":
    unittest.main()
