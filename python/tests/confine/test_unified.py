"""Tests of control groups on a real v2 hierarchy: `npm run vm` has one where this machine does not."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _vivarium.confine import cgroup, identity, kernel

from tests.confine.confined import NOBODY, in_child, needs_root

MB = 1 << 20
LEAF = "vivarium-main"


class Unified(unittest.TestCase):
    """Each test has a group like that of a service, in which it starts processes."""

    def setUp(self) -> None:
        cgroups = cgroup.find()
        if cgroups.kind != "v2":
            self.skipTest(f"NOT TRIED: memory is not in a writable cgroup v2 here ({cgroups.kind} {cgroups.reason})")
        own = Path(cgroups.directories[0])
        with contextlib.suppress(OSError):  # the root of the machine has it, and needs it for no group of ours
            (own / "cgroup.subtree_control").write_text("+cpu")
        self.service = own / f"vivarium-test-{os.getpid()}"
        self.service.mkdir()
        self.addCleanup(self.remove)
        self.members: list[int] = []

    def remove(self) -> None:
        for pid in self.members:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        for directory in (*self.service.glob("*/"), self.service):
            if directory.is_dir():
                cgroup.Group("v2", {"memory": str(directory)}).remove(timeout_s=10)

    def run_inside(self, work: Callable[[], Any], uid: int = 0) -> Any:
        """Run `work` in a process of the service, under `uid` if we are root."""

        def enter() -> Any:
            (self.service / "cgroup.procs").write_text("0")
            if os.getuid() != uid and os.getuid() == 0:
                identity.become(uid, uid)
            return work()

        return in_child(enter)

    def start_member(self, work: Callable[[], Any] = signal.pause) -> int:
        """Start a process of the service beside the others."""
        ready, told = os.pipe()
        pid = os.fork()
        if pid == 0:
            (self.service / "cgroup.procs").write_text("0")
            os.close(told)
            work()
            os._exit(0)
        self.members.append(pid)
        os.close(told)
        os.read(ready, 1)
        os.close(ready)
        return pid

    def delegate(self, *names: str) -> None:
        for path in (self.service, *(self.service / name for name in names)):
            os.chown(path, NOBODY, NOBODY)

    def controllers(self) -> set[str]:
        return set((self.service / "cgroup.subtree_control").read_text().split())


def describe_found() -> list[str]:
    found = cgroup.find()
    return [found.kind, found.reason, Path("/proc/self/cgroup").read_text().strip()]


def fork_for(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)


def fork_and(work: Callable[[], Any]) -> int:
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    return pid


class Moves(Unified):
    def test_a_lone_process_steps_down_into_a_leaf(self) -> None:
        kind, reason, place = self.run_inside(describe_found)
        self.assertEqual((kind, reason), ("v2", ""))
        self.assertTrue(place.endswith(f"/{self.service.name}/{LEAF}"), place)
        self.assertLessEqual({"memory", "pids"}, self.controllers())

    def test_children_and_siblings_move_along(self) -> None:
        def find_among_relatives() -> list[str]:
            relatives = [fork_and(signal.pause) for _ in range(3)]
            try:
                return in_child(describe_found)
            finally:
                for pid in relatives:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)

        self.assertEqual(self.run_inside(find_among_relatives)[:2], ["v2", ""])

    def test_relatives_may_fork_and_end_meanwhile(self) -> None:
        def find_among_forks() -> list[str]:
            forking = fork_and(lambda: fork_for(2))
            try:
                return in_child(describe_found)
            finally:
                os.waitpid(forking, 0)

        self.assertEqual(self.run_inside(find_among_forks)[:2], ["v2", ""])

    def test_strangers_stay_where_they_are_and_the_reason_is_told(self) -> None:
        stranger = self.start_member()
        kind, reason, _ = self.run_inside(describe_found)
        self.assertEqual(kind, "none")
        self.assertIn("EBUSY", reason)
        self.assertIn(str(stranger), (self.service / "cgroup.procs").read_text().split())

    @needs_root
    def test_everything_in_a_container_moves_along(self) -> None:
        self.start_member()

        def enter_container() -> list[str]:
            kernel.unshare(kernel.NEWCGROUP | kernel.NEWNS)
            kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
            kernel.mount("container", "/mnt", "cgroup2")
            return describe_found()

        self.assertEqual(self.run_inside(enter_container), ["v2", "", f"0::/{LEAF}"])

    def test_a_group_for_threads_is_refused_with_the_reason(self) -> None:
        (self.service / "threads").mkdir()
        (self.service / "threads" / "cgroup.type").write_text("threaded")
        kind, reason, _ = self.run_inside(describe_found)
        self.assertEqual(kind, "none")
        self.assertIn("for threads", reason)

    def test_sessions_weigh_less_than_what_serves_them(self) -> None:
        if not (self.service / "cpu.weight").exists():
            self.skipTest("NOT TRIED: there is no cpu controller in our group")

        def weigh() -> list[int]:
            group = cgroup.find().create("vivarium-session", memory_bytes=None, processes=None)
            places = (group.directories["memory"], self.service / LEAF)
            return [int(Path(place, "cpu.weight").read_text()) for place in places]

        self.assertEqual(self.run_inside(weigh), [100, 900])


class Delegation(Unified):
    @needs_root
    def test_a_user_limits_sessions_in_a_delegated_group(self) -> None:
        self.delegate("cgroup.procs", "cgroup.subtree_control", "cgroup.threads")

        def use() -> list[object]:
            group = cgroup.find().create("vivarium-session", memory_bytes=64 * MB, processes=20)

            def fill() -> int:
                group.attach(os.getpid())
                return len(bytearray(b"x") * (200 * MB))

            return [in_child(fill), group.oom_kills(), group.remove()]

        self.assertEqual(self.run_inside(use, NOBODY), [{"signal": signal.SIGKILL}, 1, True])

    @needs_root
    def test_a_group_is_not_found_where_nobody_can_be_moved_into_it(self) -> None:
        (self.service / "cgroup.subtree_control").write_text("+memory +pids")
        leaf = self.service / LEAF
        leaf.mkdir()
        self.delegate("cgroup.subtree_control")

        def find_from_leaf() -> list[str]:
            (leaf / "cgroup.procs").write_text("0")
            identity.become(NOBODY, NOBODY)
            return describe_found()

        kind, reason, _ = in_child(find_from_leaf)
        self.assertEqual(kind, "none")
        self.assertIn("EACCES", reason)
        self.assertEqual([path.name for path in self.service.glob("*/") if path.is_dir()], [LEAF])

    @needs_root
    def test_a_group_of_somebody_else_is_refused_with_advice(self) -> None:
        kind, reason, _ = self.run_inside(describe_found, NOBODY)
        self.assertEqual(kind, "none")
        self.assertIn("Delegate=yes", reason)


class Sockets(Unified):
    LIMIT = 48 * MB

    def hoard(self, most: int) -> list[Any]:
        """Leave up to `most` bytes in TCP sockets of a session: what it counted, or how it ended, and its kills."""

        def use() -> list[Any]:
            group = cgroup.find().create("vivarium-session", memory_bytes=self.LIMIT, processes=20)

            def fill() -> int:
                group.attach(os.getpid())
                kept = fill_sockets(most)
                stat = Path(group.directories["memory"], "memory.stat").read_text()
                counted = dict(line.split() for line in stat.splitlines())
                for one in kept:
                    one.close()
                return int(counted["sock"])

            return [in_child(fill), group.oom_kills(), group.memory_bytes()]

        return self.run_inside(use)

    def test_what_waits_in_tcp_sockets_counts_as_memory(self) -> None:
        counted, kills, _ = self.hoard(self.LIMIT // 4)
        self.assertGreaterEqual(counted, self.LIMIT // 4)
        self.assertEqual(kills, 0)

    def test_a_hoard_in_tcp_sockets_ends_at_the_limit_and_its_memory_is_free_again(self) -> None:
        ended, kills, left = self.hoard(8 * self.LIMIT)
        self.assertEqual((ended, kills), ({"signal": signal.SIGKILL}, 1))
        self.assertLess(left, self.LIMIT // 4)


def fill_sockets(most: int) -> list[socket.socket]:
    """Send up to `most` bytes that nobody receives."""
    sent, kept = 0, []
    with socket.create_server(("127.0.0.1", 0)) as server:
        while sent < most and len(kept) < 400:
            near = socket.create_connection(server.getsockname())
            kept += [near, server.accept()[0]]
            near.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while sent < most:
                    sent += near.send(bytes(65536))
    return kept


if __name__ == "__main__":
    unittest.main()
