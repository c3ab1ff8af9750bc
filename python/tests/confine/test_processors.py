"""Which processors sessions get, and what holds them to these."""

from __future__ import annotations

import math
import os
import tempfile
import time
import unittest
from pathlib import Path

from _vivarium.confine import cgroup, hierarchy, processors
from _vivarium.confine.processors import Processors

from tests.confine.confined import in_child

GB = 1 << 30
V1 = """32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
"""
V2 = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"


class AllotmentTest(unittest.TestCase):
    """What a session with some limits gets on a machine with eight processors."""

    def setUp(self) -> None:
        self.processors = Processors(tuple(range(8)), 8)

    def test_a_session_without_a_limit_may_use_all(self) -> None:
        found = self.processors.allot(None, 8 * GB, 64)
        self.assertEqual((found.numbers, found.count, found.threads), ((), 8, 8))

    def test_a_part_of_a_processor_is_one_that_is_seen(self) -> None:
        found = self.processors.allot(1.5, 8 * GB, 64)
        self.assertEqual((len(found.numbers), found.count, found.threads), (2, 2, 2))

    def test_more_than_there_are_is_all(self) -> None:
        self.assertEqual(self.processors.allot(20, 8 * GB, 64).numbers, ())

    def test_sessions_are_spread_and_places_become_free(self) -> None:
        first = self.processors.allot(4, GB, 64).numbers
        self.processors.hold(first)
        second = self.processors.allot(4, GB, 64).numbers
        self.processors.hold(second)
        self.assertEqual(sorted(first + second), list(range(8)))
        self.processors.release(first)
        self.assertEqual(self.processors.allot(4, GB, 64).numbers, first)

    def test_threads_fit_into_memory_and_processes(self) -> None:
        self.assertEqual(self.processors.allot(None, GB // 4, 64).threads, 4)
        self.assertEqual(self.processors.allot(None, GB, 8).threads, 2)
        self.assertEqual(self.processors.allot(None, 1, 1).threads, 1)

    def test_a_container_that_allows_fewer_is_believed(self) -> None:
        found = Processors(tuple(range(8)), 2).allot(None, GB, 64)
        self.assertEqual((found.numbers, found.count, found.threads), ((), 2, 2))


class QuotaTest(unittest.TestCase):
    """What control groups above us allow, and what a group below us enforces."""

    def test_this_process_may_use_what_it_is_told(self) -> None:
        numbers, usable = processors.find()
        self.assertEqual(set(numbers), os.sched_getaffinity(0))
        self.assertTrue(1 <= usable <= len(numbers))

    def test_our_group_and_all_above_it_are_looked_at(self) -> None:
        root = "/sys/fs/cgroup"
        found = hierarchy.own_and_above(V2, "0::/a/b")
        self.assertEqual(found, [root, f"{root}/a", f"{root}/a/b"])
        found = hierarchy.own_and_above(V1, "4:memory:/m\n3:cpu,cpuacct:/c\n0::/\n")
        self.assertEqual(found, [f"{root}/cpu,cpuacct", f"{root}/cpu,cpuacct/c"])
        self.assertEqual(hierarchy.own_and_above("", ""), [])

    def test_quotas_of_both_versions_are_read(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(processors._allowed(folder), math.inf)
            for name, text in (("cpu.cfs_quota_us", "150000"), ("cpu.cfs_period_us", "100000")):
                Path(folder, name).write_text(f"{text}\n")
            self.assertEqual(processors._allowed(folder), 1.5)
            Path(folder, "cpu.cfs_quota_us").write_text("-1\n")
            self.assertEqual(processors._allowed(folder), math.inf)
            Path(folder, "cpu.max").write_text("50000 100000\n")
            self.assertEqual(processors._allowed(folder), 0.5)
            Path(folder, "cpu.max").write_text("max 100000\n")
            self.assertEqual(processors._allowed(folder), math.inf)

    def test_a_v2_group_gets_its_quota(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "cpu.max").touch()
            cgroup.Group("v2", {"memory": folder, "cpu": folder}).set_cpus(1.5)
            self.assertEqual(Path(folder, "cpu.max").read_text(), "150000 100000")

    def test_a_group_holds_its_processes_to_a_part_of_a_processor(self) -> None:
        cgroups = cgroup.find()
        if not cgroups.has_processors:
            self.skipTest(f"no control group for processors: {cgroups.reason or cgroups.kind}")
        group = cgroups.create(f"vivarium-cpus-{os.getpid()}", memory_bytes=None, processes=None, limits_cpus=True)
        self.addCleanup(group.remove)
        group.set_cpus(0.1)

        def burn() -> bool:
            group.attach(os.getpid())
            until = time.monotonic() + 30
            while _throttled(group) == 0 and time.monotonic() < until:
                pass
            return _throttled(group) > 0

        self.assertTrue(in_child(burn))

    def test_most_v1_groups_have_none_for_processors(self) -> None:
        cgroups = cgroup.find()
        if cgroups.kind != "v1":
            self.skipTest(f"control groups are {cgroups.kind}")
        group = cgroups.create(f"vivarium-plain-{os.getpid()}", memory_bytes=None, processes=None)
        self.addCleanup(group.remove)
        self.assertNotIn("cpu", group.directories)


def _throttled(group: cgroup.Group) -> int:
    """Return how often the kernel has made the group wait."""
    counts = dict(line.split() for line in Path(group.directories["cpu"], "cpu.stat").read_text().splitlines())
    return int(counts["nr_throttled"])
