"""Real processes in terminal sessions of their own, whose weight depends on how many are busy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import unittest

from _vivarium.surveyor.priorities import (
    FIRST,
    HASTENED_S,
    LOWEST,
    Priorities,
    TerminalSession,
    _is_grouped,
    _read_niceness,
    _write_niceness,
)
from _vivarium.surveyor.processes import Place, Sample, sample


@unittest.skipUnless(_is_grouped(), "this kernel does not group processes by terminal session")
class PrioritiesTest(unittest.TestCase):
    """One process that computes, in a terminal session of its own."""

    def setUp(self) -> None:
        self.process = self.start_computing()
        self.priorities = Priorities(processors=2)
        self.place = Place(pid1=os.getpid(), worker=0, group=None)
        self.known: dict[int, TerminalSession] = {}

    def start_computing(self) -> subprocess.Popen[bytes]:
        """Start a process that waits for nothing any more, not even for its own files."""
        command = [sys.executable, "-c", "print(flush=True)\nwhile True: pass"]
        process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE)
        assert process.stdout is not None
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.stdout.readline()
        return process

    def look(self, others: int, *, is_stopping: bool = False) -> None:
        """Look at the process while so many other enclosures are busy."""
        for number in range(others):
            self.priorities._active[f"other {number}"] = time.monotonic()
        hastened = self.sample().session if is_stopping else None
        self.known = self.priorities.judge("s1", self.place, [self.sample()], self.known, hastened)
        deadline = time.monotonic() + 10
        while self.priorities._wanted and time.monotonic() < deadline:
            self.priorities.change()  # ordinary users have to wait in between

    def sample(self) -> Sample:
        found = sample(self.process.pid)
        assert found is not None
        return found

    def niceness(self) -> int:
        """Return that of the group."""
        return _read_niceness(self.process.pid)

    def wait_until_it_runs(self, is_running: bool) -> None:
        while self.sample().is_running is not is_running:
            time.sleep(0.001)

    def test_the_more_sessions_are_busy_the_less_each_weighs(self) -> None:
        self.wait_until_it_runs(True)
        self.look(others=0)
        self.assertEqual(self.niceness(), 0)
        self.look(others=7)
        self.assertEqual(self.niceness(), 6)  # four for each processor, and 1.25 ** 6 is 3.8
        self.look(others=500)
        self.assertEqual(self.niceness(), LOWEST)
        self.priorities._active.clear()
        self.look(others=0)
        self.assertEqual(self.niceness(), 0)

    def test_a_worker_that_is_to_stop_weighs_as_usual_for_a_while(self) -> None:
        self.wait_until_it_runs(True)
        self.look(others=500)
        self.look(others=500, is_stopping=True)
        self.assertEqual(self.niceness(), 0)
        self.look(others=500)
        self.assertEqual(self.niceness(), 0)
        self.priorities._hastened = dict.fromkeys(self.priorities._hastened, time.monotonic() - HASTENED_S)
        self.look(others=500)
        self.assertEqual(self.niceness(), LOWEST)

    def test_a_program_that_changes_its_own_weight_gains_nothing(self) -> None:
        self.wait_until_it_runs(True)
        self.look(others=500)
        _write_niceness(self.process.pid, 0)
        self.look(others=500)
        self.assertEqual(self.niceness(), LOWEST)

    def test_an_enclosure_that_is_expected_to_be_busy_counts_before_it_was_seen(self) -> None:
        self.wait_until_it_runs(True)
        for number in range(7):
            self.priorities.expect(f"other {number}")
        self.look(others=0)
        self.assertEqual(self.niceness(), 6)

    @unittest.skipUnless(os.geteuid() == 0, "only root can raise a weight")
    def test_our_own_processes_can_go_first(self) -> None:
        child = os.fork()
        if child == 0:
            os.setsid()
            Priorities().go_first()
            os._exit(0 if _read_niceness(os.getpid()) == FIRST else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_a_session_that_waits_is_not_changed(self) -> None:
        self.process.send_signal(signal.SIGSTOP)
        self.wait_until_it_runs(False)
        for _ in range(3):
            self.look(others=100)
        self.assertEqual(self.niceness(), 0)

    def test_a_session_with_many_terminal_sessions_weighs_no_more_than_another(self) -> None:
        others = [self.start_computing() for _ in range(7)]
        samples = [found for other in others if (found := sample(other.pid)) is not None]
        running = [found.replaced(is_running=True) for found in (*samples, self.sample())]
        self.priorities.judge("s1", self.place, running, {})
        self.assertEqual({niceness for _, niceness in self.priorities._wanted.values()}, {6})
        self.assertEqual(len(self.priorities._wanted), 8)

    def test_our_own_processes_and_pid_1_are_left_alone(self) -> None:
        self.wait_until_it_runs(True)
        self.place = Place(pid1=self.process.pid, worker=0, group=None)
        self.look(others=100)
        self.assertEqual((self.niceness(), self.known), (0, {}))
        own = sample(os.getpid())
        assert own is not None
        self.assertEqual(self.priorities.judge("s1", self.place, [own], {}), {})

    def test_a_process_that_has_ended_is_forgotten(self) -> None:
        self.wait_until_it_runs(True)
        self.priorities._active = {f"other {number}": time.monotonic() for number in range(100)}
        self.priorities.judge("s1", self.place, [self.sample()], {})
        self.assertEqual(len(self.priorities._wanted), 1)
        self.process.kill()
        self.process.wait()
        self.priorities.change()
        self.assertEqual(self.priorities._wanted, {})


if __name__ == "__main__":
    unittest.main()
