"""Tests of control groups and of the probe."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import unittest
from pathlib import Path

from _vivarium.confine import cgroup, hierarchy
from _vivarium.confine.probe import probe

from tests.confine.confined import in_child

MB = 1 << 20
V1_MOUNTS = """31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw shared:9 - cgroup cgroup rw,pids
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
"""


class GroupTest(unittest.TestCase):
    def setUp(self) -> None:
        cgroups = cgroup.find()
        if cgroups.kind == "none":
            self.skipTest(f"no control groups: {cgroups.reason}")
        self.group = cgroups.create(f"vivarium-test-{os.getpid()}", memory_bytes=64 * MB, processes=20)
        self.addCleanup(self.group.remove)

    def test_memory_beyond_the_limit_is_a_counted_kill(self) -> None:
        def fill() -> int:
            self.group.attach(os.getpid())
            block = bytearray(b"x") * (200 * MB)
            return len(block)

        self.assertEqual(self.group.oom_kills(), 0)
        self.assertEqual(in_child(fill), {"signal": signal.SIGKILL})
        self.assertEqual(self.group.oom_kills(), 1)

    def test_a_kill_leaves_the_rest_of_the_group(self) -> None:
        def fill() -> object:
            self.group.attach(os.getpid())
            return in_child(lambda: len(bytearray(b"x") * (200 * MB)))

        self.assertEqual(in_child(fill), {"signal": signal.SIGKILL})

    def test_memory_is_counted_and_the_limit_moves_both_ways(self) -> None:
        def use() -> int:
            self.group.attach(os.getpid())
            block = bytearray(b"x") * (30 * MB)
            return self.group.memory_bytes() if block else 0

        self.assertGreater(in_child(use), 29 * MB)
        for size in (200 * MB, 100 * MB):
            self.group.set_memory(size)
        self.assertGreater(in_child(use), 29 * MB)

    def test_processes_are_bounded(self) -> None:
        def bomb() -> str:
            self.group.attach(os.getpid())
            children = []
            try:
                for _ in range(40):
                    child = os.fork()
                    if child == 0:
                        signal.pause()
                    children.append(child)
            except BlockingIOError:
                return f"stopped at {len(children)}"
            finally:
                for child in children:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
            return "not stopped"

        self.assertEqual(in_child(bomb), "stopped at 19")

    def test_removing_a_group_with_processes_reports_failure(self) -> None:
        def attempt() -> bool:
            self.group.attach(os.getpid())
            return self.group.remove(timeout_s=0.02)

        self.assertFalse(in_child(attempt))
        self.assertTrue(self.group.remove())
        self.assertTrue(self.group.remove())

    def test_groups_can_be_rebased_to_another_path(self) -> None:
        cgroups = cgroup.find()
        places = {directory: f"/elsewhere/{index}" for index, directory in enumerate(cgroups.directories)}
        self.assertEqual(cgroups.rebased(places).directories, tuple(sorted(places.values())))


class Hierarchy(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="vivarium-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    def test_v1_is_nested_under_our_own_group(self) -> None:
        places = hierarchy.locate(V1_MOUNTS, "8:pids:/\n4:memory:/a/b\n0::/\n")
        self.assertEqual(places.kind, "v1")
        self.assertEqual(dict(places.parents), {"memory": "/sys/fs/cgroup/memory/a/b", "pids": "/sys/fs/cgroup/pids"})

    def test_a_container_sees_its_part_of_the_hierarchy(self) -> None:
        mounts = "35 31 0:32 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        places = hierarchy.locate(mounts, "4:memory:/docker/x/y\n")
        self.assertEqual(dict(places.parents), {"memory": "/sys/fs/cgroup/memory/y"})
        self.assertEqual(hierarchy.locate(mounts, "4:memory:/docker/xy\n").kind, "none")

    def test_v2_needs_the_memory_controller(self) -> None:
        mounts = f"35 31 0:32 / {self.folder} rw - cgroup2 cgroup2 rw\n"
        Path(self.folder, "s").mkdir()
        self.assertIn("memory controller", hierarchy.locate(mounts, "0::/s\n").reason)
        Path(self.folder, "s", "cgroup.controllers").write_text("cpu memory pids\n")
        for own in ("/s", "/s/vivarium-main"):
            places = hierarchy.locate(mounts, f"0::{own}\n")
            self.assertEqual((places.kind, dict(places.parents)["pids"]), ("v2", f"{self.folder}/s"))

    def test_v2_controllers_are_enabled_for_children(self) -> None:
        Path(self.folder, "cgroup.controllers").write_text("cpu memory pids\n")
        Path(self.folder, "cgroup.subtree_control").write_text("cpu")
        hierarchy.enable(self.folder)
        self.assertEqual(Path(self.folder, "cgroup.subtree_control").read_text(), "+memory +pids")

    def test_a_v2_group_writes_and_reads_v2_files(self) -> None:
        for name in ("memory.max", "memory.swap.max", "pids.max", "cgroup.procs"):
            Path(self.folder, name).touch()
        Path(self.folder, "memory.events").write_text("low 0\noom 3\noom_kill 2\n")
        Path(self.folder, "memory.current").write_text("4096\n")
        group = cgroup.Group("v2", {"memory": self.folder, "pids": self.folder})
        group.set_memory(MB)
        group.set_processes(7)
        group.attach(12)
        texts = [
            Path(self.folder, name).read_text()
            for name in ("memory.max", "memory.swap.max", "pids.max", "cgroup.procs")
        ]
        self.assertEqual(texts, [str(MB), "0", "7", "12"])
        self.assertEqual((group.oom_kills(), group.memory_bytes()), (2, 4096))

    def test_a_machine_without_groups_says_what_to_do(self) -> None:
        reason = hierarchy.locate("", "").reason
        self.assertIn("mount cgroup2", reason)
        with self.assertRaisesRegex(RuntimeError, "mount cgroup2"):
            cgroup.Cgroups("none", reason).create("x", memory_bytes=None, processes=None)


class Probe(unittest.TestCase):
    def test_every_answer_has_a_detail_and_leaves_this_process_alone(self) -> None:
        before = os.readlink("/proc/self/ns/user"), os.getuid()
        answers = probe()
        self.assertEqual((os.readlink("/proc/self/ns/user"), os.getuid()), before)
        names = {
            "userNamespace",
            "namespaces",
            "proc",
            "landlock",
            "landlockLevel",
            "seccomp",
            "cgroup",
            "pidfd",
            "sessionUids",
        }
        self.assertEqual(set(answers), names)
        for answer in answers.values():
            self.assertIsInstance(answer["ok"], bool)
            self.assertTrue(answer["detail"])


if __name__ == "__main__":
    unittest.main()
