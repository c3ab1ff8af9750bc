"""Real processes that compute without end get behind others, and come back when they rest."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import unittest

from _vivarium.surveyor.priorities import BUSY, NICENESS, Priorities, TerminalSession, _is_grouped
from _vivarium.surveyor.processes import Place, Sample, sample


@unittest.skipUnless(_is_grouped(), "this kernel does not group processes by terminal session")
class PrioritiesTest(unittest.TestCase):
    """One process that computes, in a terminal session of its own."""

    def setUp(self) -> None:
        self.process = subprocess.Popen(["python3", "-c", "while True: pass"], start_new_session=True)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        self.priorities = Priorities()
        self.place = Place(pid1=os.getpid(), worker=0, group=None)
        self.known: dict[int, TerminalSession] = {}

    def look(self, times: int) -> None:
        """Look at the process, once its state is as it should be."""
        for _ in range(times):
            self.known = self.priorities.judge(self.place, [self.sample()], self.known)
        deadline = time.monotonic() + 10
        while self.priorities._wanted and time.monotonic() < deadline:
            self.priorities.change()  # ordinary users have to wait in between

    def sample(self) -> Sample:
        found = sample(self.process.pid)
        assert found is not None
        return found

    def niceness(self) -> int:
        """Return that of the group, from a line like `/autogroup-70 nice 0`."""
        with open(f"/proc/{self.process.pid}/autogroup") as file:
            return int(file.read().split()[-1])

    def wait_until_it_runs(self, is_running: bool) -> None:
        while self.sample().is_running is not is_running:
            time.sleep(0.001)

    def test_a_busy_session_gets_behind_and_comes_back_when_it_rests(self) -> None:
        self.wait_until_it_runs(True)
        self.look(BUSY - 1)
        self.assertEqual(self.niceness(), 0)
        self.look(1)
        self.assertEqual(self.niceness(), NICENESS)
        self.process.send_signal(signal.SIGSTOP)
        self.wait_until_it_runs(False)
        self.look(BUSY)
        self.assertEqual(self.niceness(), 0)

    def test_our_own_processes_and_pid_1_are_left_alone(self) -> None:
        self.wait_until_it_runs(True)
        self.place = Place(pid1=self.process.pid, worker=0, group=None)
        self.look(2 * BUSY)
        self.assertEqual((self.niceness(), self.known), (0, {}))
        own = sample(os.getpid())
        assert own is not None
        self.assertEqual(self.priorities.judge(self.place, [own], {}), {})

    def test_a_process_that_has_ended_is_forgotten(self) -> None:
        self.wait_until_it_runs(True)
        found = self.sample()
        for _ in range(BUSY):
            self.known = self.priorities.judge(self.place, [found], self.known)
        self.process.kill()
        self.process.wait()
        self.priorities.change()
        self.assertEqual(self.priorities._wanted, {})


if __name__ == "__main__":
    unittest.main()
