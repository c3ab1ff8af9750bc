"""The size of a tree that its owner changes while it is measured."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import tempfile
import unittest

from _vivarium.surveyor.disk import MAX_ENTRIES, MAX_OPEN, DiskMeter
from _vivarium.surveyor.following import Following
from _vivarium.surveyor.processes import Processes

LONG_S = 30.0
NO_TIME_S = 0.0
MB = 1 << 20


class DiskMeterTest(unittest.TestCase):
    """A tree and a place outside of it."""

    def setUp(self) -> None:
        self.base = tempfile.mkdtemp()
        self.addCleanup(subprocess.run, ["rm", "-rf", self.base], check=True)
        self.tree, self.outside = f"{self.base}/tree", f"{self.base}/outside"
        os.mkdir(self.tree)
        os.mkdir(self.outside)
        self.meter = DiskMeter(self.tree, Following(self.base, Processes()), lambda: [os.getpid()])
        self.meter.max_bytes = MB

    def write(self, path: str, size: int) -> None:
        with open(path, "wb") as file:
            file.write(b"x" * size)

    def test_files_without_a_name_count_once_as_long_as_they_are_open_or_mapped(self) -> None:
        fds = []
        for name in ("open", "mapped"):
            self.write(f"{self.tree}/{name}", MB)
            fds.append(os.open(f"{self.tree}/{name}", os.O_RDWR))
            os.unlink(f"{self.tree}/{name}")
        fds.append(os.dup(fds[0]))
        self.assertEqual(self.measured_again(), 2 * MB)
        area = mmap.mmap(fds[1], MB)
        os.close(fds[1])  # the mapping has a descriptor of its own
        self.assertEqual(self.measured_again(), 2 * MB)
        for fd in (fds[0], fds[2]):
            os.close(fd)
        area.close()
        self.assertEqual(self.measured_again(), 0)

    def test_a_file_that_is_only_mapped_counts(self) -> None:
        program = (
            "import ctypes, os, sys\n"
            f"fd = os.open({self.tree!r} + '/mapped', os.O_RDWR | os.O_CREAT)\n"
            f"os.write(fd, bytes({MB}))\n"
            "libc = ctypes.CDLL(None)\n"
            "libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]\n"
            f"libc.mmap(None, {MB}, 1, 1, fd, 0)\n"
            f"os.close(fd); os.unlink({self.tree!r} + '/mapped')\n"
            "print(flush=True); sys.stdin.read()"
        )
        with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.readline()
            meter = DiskMeter(self.tree, Following(self.base, Processes()), lambda: [child.pid])
            self.assertEqual(meter.measure(LONG_S), MB)

    def measured_again(self) -> int | None:
        self.meter.expire()
        return self.meter.measure(LONG_S)

    def open_fds(self) -> int:
        return len(os.listdir("/proc/self/fd"))

    def test_what_was_counted_before_the_tree_changed_is_no_proof_that_it_is_too_large(self) -> None:
        self.write(f"{self.tree}/large", 4 * MB)
        self.write(f"{self.tree}/small", 1)
        for _ in self.meter._begin():  # a walk that is interrupted after the large file
            if self.meter._bytes > MB:
                break
        os.remove(f"{self.tree}/large")
        self.meter.expire()
        self.assertFalse(self.meter.is_over(LONG_S))
        self.assertFalse(self.meter.is_over(LONG_S))
        self.write(f"{self.tree}/large", 4 * MB)
        self.assertTrue(self.meter.is_over(LONG_S))

    def test_everything_below_the_root_counts_and_links_are_not_followed(self) -> None:
        os.makedirs(f"{self.tree}/a/b")
        self.write(f"{self.tree}/a/b/file", 100_000)
        self.write(f"{self.outside}/large", 4 * MB)
        os.symlink(self.outside, f"{self.tree}/a/directory")
        os.symlink(f"{self.outside}/large", f"{self.tree}/file")
        size = self.meter.measure(LONG_S)
        assert size is not None
        self.assertTrue(100_000 <= size < 200_000, size)

    def test_a_directory_that_becomes_a_link_leads_nowhere(self) -> None:
        os.mkdir(f"{self.tree}/inner")
        self.write(f"{self.outside}/large", 4 * MB)
        walk = self.meter._walk_once()
        next(walk)  # it has seen the directory, and has not entered it yet
        os.rmdir(f"{self.tree}/inner")
        os.symlink(self.outside, f"{self.tree}/inner")
        for _ in walk:
            pass
        self.assertLess(self.meter._bytes, MB)

    def test_a_root_that_is_a_link_or_is_missing_has_no_size(self) -> None:
        os.symlink(self.outside, f"{self.base}/link")
        self.write(f"{self.outside}/large", 4 * MB)
        for name in ("link", "missing"):
            meter = DiskMeter(f"{self.base}/{name}", Following(self.base, Processes()), list)
            self.assertEqual(meter.measure(LONG_S), 0)

    def test_a_very_deep_tree_takes_few_descriptors_and_is_measured_whole(self) -> None:
        directory = os.open(self.tree, os.O_RDONLY)
        for _ in range(3000):
            os.mkdir("d", dir_fd=directory)
            inner = os.open("d", os.O_RDONLY, dir_fd=directory)
            os.close(directory)
            directory = inner
        os.close(os.open("bottom", os.O_CREAT | os.O_WRONLY, dir_fd=directory))
        os.close(directory)
        before = self.open_fds()
        self.assertFalse(self.meter.is_over(NO_TIME_S))
        self.assertLess(self.open_fds(), before + 5)
        self.meter.max_bytes = 100 * MB
        self.assertFalse(self.meter.is_over(LONG_S))
        self.assertEqual(self.meter._entries, 3001)
        self.assertLessEqual(self.open_fds(), before)

    def test_a_deep_tree_that_forks_everywhere_counts_as_too_large(self) -> None:
        directory = os.open(self.tree, os.O_RDONLY)
        for _ in range(MAX_OPEN + 10):
            for name in ("a", "b"):
                os.mkdir(name, dir_fd=directory)
            self.addCleanup(os.close, directory)
            directory = os.open(os.listdir(directory)[-1], os.O_RDONLY, dir_fd=directory)  # which is entered first
        os.close(directory)
        self.meter.max_bytes = 1 << 40
        before = self.open_fds()
        self.assertTrue(self.meter.is_over(LONG_S))
        self.meter.close()
        self.assertLessEqual(self.open_fds(), before)

    def test_too_many_files_are_too_much_whatever_their_size(self) -> None:
        self.meter._entries = MAX_ENTRIES + 1
        self.assertTrue(self.meter._is_over())

    def test_a_walk_that_was_under_way_when_the_tree_changed_is_followed_by_another(self) -> None:
        for index in range(50):
            self.write(f"{self.tree}/{index}", 10)
        self.assertIsNone(self.meter.measure(NO_TIME_S))
        self.meter.expire()
        self.assertIsNone(self.meter.measure(LONG_S))
        self.assertIsNotNone(self.meter.measure(LONG_S))
        self.meter.expire()
        self.assertIsNotNone(self.meter.measure(LONG_S))

    def test_short_looks_come_to_an_end_also_when_the_tree_is_said_to_change_all_the_time(self) -> None:
        for index in range(200):
            self.write(f"{self.tree}/{index}", 10_000)
        looks = 0
        while not self.meter.is_over(NO_TIME_S):
            self.meter.expire()
            looks += 1
            self.assertLess(looks, 1000)


if __name__ == "__main__":
    unittest.main()
