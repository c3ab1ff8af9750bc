"""The surveyor as the host meets it: a process at the other end of a socket."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from _vivarium import protocol
from _vivarium.channel import Channel
from _vivarium.surveyor.processes import sample
from _vivarium.surveyor.server import Surveyor, SurveySettings

MB = 1 << 20
PATIENCE_S = 60.0  # with a machine that has much else to do
BUSY = "x = 1\nwhile True: x += 1"
FILLING = "held = bytearray(300 << 20)\nimport time\ntime.sleep(60)"
# Holds nearly what it may, and forks copies, which end with it: as they are, or such that write to their memory.
FORKING = """
import os, time
held = bytearray(b"x") * (140 << 20)
parent = os.getpid()
for _ in range({copies}):
    if os.fork() == 0:
        held[::{step}] = bytes(len(held[::{step}]))
        while os.getppid() == parent: time.sleep(0.1)
        os._exit(0)
time.sleep(60)
"""

# Children that use the memory of their parent, as between vfork and exec.
BORROWING = """
import ctypes, time
held = bytearray(b"x") * (80 << 20)
libc = ctypes.CDLL(None)
libc.clone.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
stacks = [ctypes.create_string_buffer(1 << 20) for _ in range(3)]
for stack in stacks:
    libc.clone(ctypes.cast(libc.sleep, ctypes.c_void_p), ctypes.addressof(stack) + (1 << 19), 0x100 | 17, 5)
time.sleep(60)
"""
LEADERLESS = """
import ctypes, threading, time
def fill():
    held = bytearray(b"x") * (200 << 20)
    time.sleep(60)
threading.Thread(target=fill).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[__import__("os").uname().machine], 0)
"""
TABLES = """
import ctypes, mmap, time
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)
area = mmap.mmap(-1, 100 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
for start in range(0, len(area), 2 << 20): area[start]
time.sleep(60)
"""
SOCKETS = """
import socket, time
ends, sent = [], 0
while sent < 200 << 20:
    ends += socket.socketpair()
    ends[-2].setblocking(False)
    try:
        while True: sent += ends[-2].send(bytes(4096))
    except BlockingIOError:
        pass
time.sleep(60)
"""


def children_of(pid: int) -> list[int]:
    """Return the children of a process that has one thread."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def ends_within(pid: int, seconds: float) -> bool:
    """Whether a process ends in that time."""
    deadline = time.monotonic() + seconds
    while (found := sample(pid)) is not None and not found.is_ended:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


class SurveyorTest(unittest.TestCase):
    """A surveyor in a process of its own."""

    def setUp(self) -> None:
        self.sessions = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.sessions)
        os.mkdir(f"{self.sessions}/home")
        self.host, theirs = socket.socketpair()
        self.host.settimeout(20)
        self.surveyor = os.fork()
        if self.surveyor == 0:
            self.host.close()
            os.setsid()  # as in a zygote: it raises the priority of its terminal session
            Surveyor(Channel(theirs.detach()), SurveySettings(self.sessions)).serve()
        theirs.close()
        self.addCleanup(self.host.close)
        self.addCleanup(os.waitpid, self.surveyor, 0)
        self.addCleanup(os.kill, self.surveyor, signal.SIGKILL)

    def start(self, program: str) -> int:
        """Run a program as the pid 1 of an enclosure."""
        process = subprocess.Popen([sys.executable, "-c", program])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process.pid

    def order(self, op: str, pid: int, *, more: bytes = b"", **fields: object) -> None:
        """Send an order for an enclosure of that process."""
        place = {"pid1": pid, "worker": 0, "group": None, "workspace": "home"}
        usual = {
            "order": 7,
            "memoryBytes": 100 * MB,
            "cpuMs": None,
            "busyMs": None,
            "diskBytes": MB,
            "isStopping": False,
            "toleratesFound": False,
            "wallMs": None,
        }
        known = {"enclosure": f"s{pid}", "worker": pid, "dormant": [], "place": place}
        self.host.sendall(protocol.encode({"op": op, **known, **usual, **fields}) + more)

    def assert_silent(self, seconds: float) -> None:
        """The surveyor has nothing to say."""
        self.assertEqual(select.select([self.host], [], [], seconds)[0], [])

    def hear(self) -> dict:
        """Return the next message of the surveyor."""
        self.assertTrue(select.select([self.host], [], [], PATIENCE_S)[0], "the surveyor says nothing")
        return protocol.receive(self.host.fileno())

    def grow(self) -> dict:
        """Write more and more until the surveyor says something: what it finds first, however late, may be tolerated."""
        deadline = time.monotonic() + PATIENCE_S
        while not select.select([self.host], [], [], 0.3)[0] and time.monotonic() < deadline:
            self.write(MB)
        return self.hear()

    def test_each_limit_is_noticed_and_told_with_its_enclosure(self) -> None:
        self.host.setblocking(True)
        greedy, busy, idle = self.start(FILLING), self.start(BUSY), self.start("import time; time.sleep(60)")
        self.order("watch", greedy)
        self.assertEqual(self.hear() | {"leftovers": 0}, overstep(greedy, "memory"))
        self.order("watch", busy, cpuMs=200)
        self.assertEqual(self.hear(), overstep(busy, "cpu"))
        self.order("rest", busy, busyMs=200)
        self.assertEqual(self.hear(), overstep(busy, "busy"))
        self.order("watch", idle)
        self.write(2 * MB)
        self.assertEqual(self.hear(), overstep(idle, "workspace"))

    def test_copies_that_may_be_twins_which_the_host_does_not_know_yet_do_not_count(self) -> None:
        self.host.setblocking(True)
        self.order("watch", self.start(FORKING.format(copies=2, step=140 * MB)))
        self.assert_silent(1.5)

    def test_copies_that_are_too_many_or_have_done_something_count(self) -> None:
        self.host.setblocking(True)
        for copies, step in ((3, 4096), (2, 1)):
            forking = self.start(FORKING.format(copies=copies, step=step))
            self.order("watch", forking)
            self.assertEqual(self.hear() | {"leftovers": 0}, overstep(forking, "memory"))

    def test_a_child_that_uses_the_memory_of_its_parent_does_not_count(self) -> None:
        self.host.setblocking(True)
        self.order("watch", self.start(BORROWING), memoryBytes=60 * MB)
        self.assert_silent(1.5)

    def test_memory_counts_behind_a_leader_that_has_ended_in_page_tables_and_in_sockets(self) -> None:
        self.host.setblocking(True)
        for program in (LEADERLESS, TABLES, SOCKETS):
            greedy = self.start(program)
            self.order("watch", greedy)
            self.assertEqual(self.hear() | {"leftovers": 0}, overstep(greedy, "memory"))

    def start_family(self) -> tuple[int, int, int]:
        """Run a program as pid 1 with two children."""
        program = "import os, time\nfor _ in range(2):\n  if os.fork() == 0: break\ntime.sleep(60)"
        parent = self.start(program)
        deadline = time.monotonic() + 10
        while len(children := children_of(parent)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        first, second = children
        return parent, first, second

    def test_a_host_that_says_nothing_more_is_replaced_and_only_twins_and_pid_1_are_spared(self) -> None:
        parent, worker, twin = self.start_family()
        self.order("watch", parent, worker=worker, dormant=[worker, twin], wallMs=300)
        self.assertTrue(ends_within(worker, 5))
        self.assertFalse(ends_within(twin, 0.5))
        self.assertFalse(ends_within(parent, 0))

    def test_any_word_of_the_host_keeps_the_surveyor_from_acting(self) -> None:
        parent, first, second = self.start_family()
        self.order("watch", parent, wallMs=400)
        self.order("unwatch", parent)
        self.assertFalse(ends_within(first, 1))
        self.order("watch", parent, wallMs=400)
        self.order("watch", parent, wallMs=60_000)
        self.assertFalse(ends_within(second, 1))

    def write(self, size: int) -> None:
        with open(f"{self.sessions}/home/file", "ab") as file:
            file.write(b"x" * size)

    def test_what_is_found_first_is_tolerated_if_the_host_says_so_and_growth_is_not(self) -> None:
        self.host.setblocking(True)
        for op in ("watch", "rest"):
            busy = self.start(BUSY)  # all is well as long as nothing happens
            self.write(3 * MB)
            self.order(op, busy, toleratesFound=True)
            self.assert_silent(0.5)
            self.assertEqual(self.grow(), overstep(busy, "workspace"))

    def test_a_run_is_held_to_what_was_measured_before_it(self) -> None:
        self.host.setblocking(True)
        busy = self.start(BUSY)
        self.write(3 * MB)
        self.order("rest", busy, toleratesFound=True)
        self.assert_silent(0.5)
        self.order("watch", busy)
        self.assert_silent(0.5)
        self.assertEqual(self.grow(), overstep(busy, "workspace"))

    def test_blocks_that_the_kernel_adds_when_it_writes_files_out_are_no_growth(self) -> None:
        self.host.setblocking(True)
        busy = self.start(BUSY)
        path = f"{self.sessions}/home/scattered"
        with open(path, "wb") as file:
            for number in range(768):
                os.pwrite(file.fileno(), b"x" * 4096, number * 8192)
        before = os.stat(path).st_blocks
        self.order("rest", busy, toleratesFound=True)
        self.assert_silent(0.5)
        with open(path, "rb") as file:
            os.fsync(file.fileno())
        if os.stat(path).st_blocks == before:
            self.skipTest("this file system adds none")
        self.order("watch", busy)
        self.assert_silent(0.5)
        self.assertEqual(self.grow(), overstep(busy, "workspace"))

    def test_a_run_that_begins_before_anything_was_measured_is_held_to_what_it_finds(self) -> None:
        self.host.setblocking(True)
        for number in range(20_000):  # takes longer than one look
            os.mknod(f"{self.sessions}/home/{number}")
        busy = self.start(BUSY)
        self.write(3 * MB)
        self.order("rest", busy, toleratesFound=True)
        self.order("watch", busy)
        self.assert_silent(1)
        self.assertEqual(self.grow(), overstep(busy, "workspace"))

    def test_far_above_the_limit_a_run_is_ended_and_a_session_that_rests_is_not(self) -> None:
        self.host.setblocking(True)
        busy = self.start(BUSY)
        self.write(300 * MB)
        self.order("rest", busy, toleratesFound=True)
        self.assert_silent(0.5)
        self.order("watch", busy, toleratesFound=True)
        self.assertEqual(self.hear(), overstep(busy, "workspace"))

    def test_orders_that_come_all_the_time_do_not_put_off_a_look(self) -> None:
        greedy = self.start(FILLING)
        deadline = time.monotonic() + 15
        self.host.setblocking(False)
        while time.monotonic() < deadline:
            self.order("rest", greedy)
            try:
                self.host.recv(1, socket.MSG_PEEK)
                break
            except BlockingIOError:
                time.sleep(0.005)
        self.host.setblocking(True)
        self.assertEqual(self.hear(), overstep(greedy, "memory"))

    def test_a_worker_starves_that_wants_to_run_and_has_not_since_it_was_told_to_stop(self) -> None:
        self.host.setblocking(True)
        busy, idle = self.start(BUSY), self.start(BUSY)
        os.kill(idle, signal.SIGSTOP)
        wait_until_running(busy, True)
        wait_until_running(idle, False)
        for pid, is_starved in ((busy, True), (idle, False)):
            self.order("watch", pid)
            self.assert_silent(0.5)  # the first look takes longest
            self.assertIs(self.seems_starved(pid, tries=50 if is_starved else 1), is_starved)
        time.sleep(0.5)
        self.host.sendall(protocol.encode({"op": "starved", "request": 1, "enclosure": f"s{busy}"}))
        self.assertFalse(self.hear()["value"])

    def seems_starved(self, pid: int, tries: int) -> bool:
        """Tell a worker to stop and ask at once. On a busy machine it may run for a while between the two."""
        question = protocol.encode({"op": "starved", "request": 1, "enclosure": f"s{pid}"})
        for _ in range(tries):
            self.order("watch", pid)
            self.order("watch", pid, isStopping=True, more=question)
            if self.hear()["value"]:
                return True
        return False

    def test_a_question_that_cannot_be_answered_has_a_problem_for_an_answer(self) -> None:
        self.host.setblocking(True)
        self.host.sendall(protocol.encode({"op": "divine", "request": 7}))
        answer = {"event": "answer", "request": 7, "problem": "KeyError: 'divine'", "value": None}
        self.assertEqual(self.hear(), answer)

    def test_an_order_that_makes_no_sense_is_told_and_the_others_are_kept(self) -> None:
        self.host.setblocking(True)
        busy = self.start(BUSY)
        self.order("watch", busy, cpuMs=200)
        self.host.sendall(protocol.encode({"op": "watch", "enclosure": "s0"}))
        self.assertEqual(self.hear()["event"], "unmeasured")
        self.assertEqual(self.hear(), overstep(busy, "cpu"))

    def test_a_session_that_cannot_be_measured_is_told_and_the_others_are_measured_on(self) -> None:
        self.host.setblocking(True)
        strange, busy = self.start(BUSY), self.start(BUSY)
        self.order("watch", strange, memoryBytes="much")
        unmeasured = self.hear()
        self.assertEqual((unmeasured["event"], unmeasured["enclosure"]), ("unmeasured", f"s{strange}"))
        self.order("watch", busy, cpuMs=200)
        self.assertEqual(self.hear(), overstep(busy, "cpu"))

    def test_it_ends_with_its_host(self) -> None:
        self.host.close()
        deadline = time.monotonic() + 10
        while os.waitid(os.P_PID, self.surveyor, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.005)


class ChannelTest(unittest.TestCase):
    """Frames that come and go in pieces."""

    def setUp(self) -> None:
        self.host, theirs = socket.socketpair()
        self.channel = Channel(theirs.detach())
        self.addCleanup(self.host.close)

    def test_messages_are_complete_wherever_they_were_cut(self) -> None:
        data = b"".join(protocol.encode({"n": n}) for n in range(20))
        for size in (1, 3, 7, 50, len(data)):
            heard = []
            for start in range(0, len(data), size):
                self.host.sendall(data[start : start + size])
                heard += self.channel.receive()
            self.assertEqual(heard, [{"n": n} for n in range(20)])

    def test_a_host_that_does_not_read_is_not_waited_for(self) -> None:
        for n in range(200):
            self.channel.send({"n": n, "text": "x" * 10_000})
        for n in range(200):
            self.channel.flush()
            self.assertEqual(protocol.receive(self.host.fileno())["n"], n)

    def test_a_successor_begins_behind_its_token(self) -> None:
        self.host.sendall(protocol.encode({"op": "old"})[:-2] + b"token" + protocol.encode({"op": "new"}))
        self.channel.skip_past(b"token")
        self.assertEqual(self.host.recv(5), b"token")
        self.host.sendall(protocol.encode({"op": "newer"}))
        self.assertEqual(self.channel.receive(), [{"op": "new"}, {"op": "newer"}])


def wait_until_running(pid: int, is_running: bool) -> None:
    while (found := sample(pid)) is None or found.is_running is not is_running:
        time.sleep(0.001)


def overstep(pid: int, cause: str) -> dict:
    """Return what the host is told."""
    return {"event": "overstepped", "enclosure": f"s{pid}", "order": 7, "cause": cause, "leftovers": 0}


if __name__ == "__main__":
    unittest.main()
