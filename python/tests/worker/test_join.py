"""Tests of joining an enclosure."""

from __future__ import annotations

import errno
import os
import resource
import socket
import unittest
from collections.abc import Callable
from typing import Any
from unittest import mock

from _vivarium.confine import kernel, limits
from _vivarium.confine.landlock import ruleset as landlock
from _vivarium.confine.seccomp import filter as seccomp
from _vivarium.worker.join import (
    CONTROL,
    GO,
    PRIVATE_FDS,
    Admission,
    WorkerSettings,
    join,
    move_low,
    system_call_filter,
)
from _vivarium.zygote.workers import WaitingWorker, report_failure

from tests.confine.confined import errno_of, in_child

PLACES = {"TMPDIR": "/tmp", "PYTHONPATH": "/tmp", "VIVARIUM_PACKAGES": "/tmp"}
HERE = WorkerSettings("landlock", False, os.getuid(), "/tmp", "/tmp", False, PLACES, (), 0.02)
WISHES = Admission(False, False, 1 << 30, 1 << 30, 64, 2 * CONTROL, 1 << 20, 0, (), False, True, False)


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


class FilterTest(unittest.TestCase):
    """The filter holds what Landlock has no right for."""

    def filtered(self, work: Callable[[], Any], *, network: bool = False, version: int = 6) -> Any:
        def child() -> Any:
            kernel.no_new_privileges()
            seccomp.install(system_call_filter("landlock", network, True, own_files=True, version=version))
            return work()

        return in_child(child)

    def test_unix_sockets_are_closed_with_a_network_too(self) -> None:
        def attempt() -> Any:
            families = [errno_of(lambda: socket.socket(family).close()) for family in (socket.AF_UNIX, socket.AF_INET)]
            pairs = [
                errno_of(lambda: [end.close() for end in socket.socketpair(socket.AF_UNIX, kind)])
                for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)
            ]
            return families, pairs, len(socket.getaddrinfo("127.0.0.1", 80)) > 0

        refused = [errno.EAFNOSUPPORT, errno.ESOCKTNOSUPPORT]
        self.assertEqual(self.filtered(attempt, network=True), [[refused[0], 0], [0, refused[1]], True])

    def test_paths_cannot_be_truncated_where_landlock_cannot_refuse_it(self) -> None:
        attempt = lambda: errno_of(lambda: os.truncate("/no/such/file", 0))  # noqa: E731
        self.assertEqual(self.filtered(attempt, version=2), errno.EPERM)
        self.assertEqual(self.filtered(attempt, version=3), errno.ENOENT)

    def test_directories_cannot_be_watched(self) -> None:
        attempt = lambda: errno_of(lambda: kernel.syscall("inotify_add_watch", -1, b"/", 1))  # noqa: E731
        self.assertEqual(self.filtered(attempt), errno.EPERM)


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
        self.assertIn("needs version 6 of Landlock", waiting.failure_text() or "")


if __name__ == "__main__":
    unittest.main()
