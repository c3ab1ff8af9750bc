"""Tests of the dormant copies of a worker, made of this process."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from _vivarium.worker.join import Admission, WorkerSettings
from _vivarium.worker.twins import Twins

MB = 1 << 20
PAGE = 4096


class TwinsTest(unittest.TestCase):
    """What becomes of earlier twins when another one is made."""

    def setUp(self) -> None:
        home = Path(tempfile.mkdtemp())
        self.addCleanup(lambda: subprocess.run(["rm", "-rf", str(home)], check=False))
        (home / "work").mkdir()
        usual = {"level": "none", "privileged": False, "uid": 0, "shared_memory": False, "environment": {}}
        paths = {"workspace": str(home / "work"), "rollback": str(home / "store"), "read_only": ()}
        self.twins = Twins(WorkerSettings(**usual, **paths, twin_delay_s=0))

    def admit(self, memory_mb: int) -> None:
        """Take over the limits of a session."""
        limits = {"memory_bytes": memory_mb * MB, "data_bytes": 1 << 40, "processes": 100, "open_files": 100}
        others = {
            "network": False,
            "listed": False,
            "file_bytes": MB,
            "rollback_bytes": MB,
            "has_mounts": False,
            "keeps_workspace": False,
        }
        self.twins.admit(Admission(**limits, **others, twins=True, is_first=False))

    def make(self) -> int:
        """Make a twin of a state that was just changed."""
        pid = self.twins.make()
        assert pid, self.twins.problem
        self.addCleanup(end, pid)
        return pid

    def test_one_that_must_make_room_has_given_back_its_memory_before_the_next_is_made(self) -> None:
        self.admit(memory_mb=150)
        self.twins.begin_change()
        held = bytearray(b"x") * (100 * MB)
        first = self.make()
        self.twins.begin_change()
        for number in range(0, len(held), PAGE):
            held[number] = 0
        self.make()
        self.assertIsNotNone(self.twins.dropped_previous)
        self.assertFalse(exists(first))

    def test_one_that_was_dropped_before_has_given_back_its_memory_if_there_is_no_room_for_it(self) -> None:
        self.admit(memory_mb=150)
        self.twins.begin_change()
        held = bytearray(b"x") * (100 * MB)
        first = self.make()
        self.twins.begin_change()
        del held
        self.make()
        held = bytearray(b"x") * (100 * MB)
        self.twins.begin_change()  # drops the first one
        self.make()
        self.assertEqual(len(held), 100 * MB)
        self.assertFalse(exists(first))


def exists(pid: int) -> bool:
    """Return whether there is such a process, also one that was not collected yet."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def end(pid: int) -> None:
    """End a twin that may have ended."""
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        return


if __name__ == "__main__":
    unittest.main()
