"""Tests of Landlock: it closes everything that is not named."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
from collections.abc import Callable, Sequence
from typing import Any

from _vivarium.confine import kernel
from _vivarium.confine.landlock import entries
from _vivarium.confine.landlock import ruleset as landlock
from _vivarium.confine.root.build import system_paths

from tests.confine.confined import errno_of, in_child


@unittest.skipUnless(landlock.abi(), "this kernel has no Landlock")
class LandlockTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="vivarium-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("read", "write", "closed"):
            os.mkdir(f"{self.folder}/{name}")
            with open(f"{self.folder}/{name}/file", "w") as file:
                file.write("x")

    def restricted(
        self, work: Callable[[], Any], *, tcp: bool = False, list_root: bool = False, listed: Sequence[str] = ()
    ) -> Any:
        """Run `work` in a child that may read one folder and write another."""

        def child() -> Any:
            kernel.no_new_privileges()
            version = landlock.restrict(
                read_only=[*system_paths(), f"{self.folder}/read", "/no/such/path"],
                read_write=[f"{self.folder}/write"],
                files=["/dev/null", f"{self.folder}/closed/file"],
                listed=listed,
                tcp=tcp,
                list_root=list_root,
            )
            return version, work()

        version, answer = in_child(child)
        self.assertEqual(version, landlock.abi())
        return answer

    def test_only_named_files_can_be_reached(self) -> None:
        def attempt() -> Any:
            here = self.folder
            with open(f"{here}/write/new", "w") as new, open("/dev/null", "w") as null:
                new.write("x")
                null.write("x")
            os.rename(f"{here}/write/new", f"{here}/write/newer")
            good = [
                errno_of(lambda: os.close(os.open(f"{here}/{name}", flags)))
                for name, flags in (("read/file", os.O_RDONLY), ("write/file", os.O_RDWR), ("closed/file", os.O_RDWR))
            ]
            bad = [
                errno_of(lambda: os.close(os.open(path, flags, 0o600)))
                for path, flags in (
                    (f"{here}/read/file", os.O_WRONLY),
                    (f"{here}/read/new", os.O_CREAT),
                    (f"{here}/closed", os.O_RDONLY),
                    (f"{here}/closed/new", os.O_CREAT | os.O_WRONLY),
                    ("/etc/passwd", os.O_RDONLY),
                )
            ]
            return good, bad, errno_of(lambda: os.listdir("/"))

        self.assertEqual(self.restricted(attempt), [[0] * 3, [errno.EACCES] * 5, errno.EACCES])

    def test_listing_the_root_can_be_allowed(self) -> None:
        self.assertEqual(self.restricted(lambda: errno_of(lambda: os.listdir("/")), list_root=True), 0)

    def test_a_directory_can_be_listed_and_no_more(self) -> None:
        folder = f"{self.folder}/closed"
        os.mkdir(f"{folder}/inner")
        with open(f"{folder}/inner/other", "w") as file:
            file.write("x")

        def attempt() -> Any:
            opened = errno_of(lambda: os.close(os.open(f"{folder}/inner/other", os.O_RDONLY)))
            made = errno_of(lambda: os.mkdir(f"{folder}/new"))
            return sorted(os.listdir(folder)), os.listdir(f"{folder}/inner"), opened, made

        expected = [["file", "inner"], ["other"], errno.EACCES, errno.EACCES]
        self.assertEqual(self.restricted(attempt, listed=[folder]), expected)

    def test_a_process_reads_about_itself_and_not_about_the_machine(self) -> None:
        def attempt() -> Any:
            kernel.no_new_privileges()
            pid = os.getpid()
            pins = entries.pin(pid)
            landlock.restrict(
                read_only=entries.files(pid), listed=entries.folders(pid), read_write=[], tcp=False, list_root=False
            )
            own = [errno_of(lambda: os.close(os.open(path, os.O_RDONLY))) for path in entries.files(pid)]
            names = [str(pid) in os.listdir("/proc/self/task"), "0" in os.listdir("/proc/self/fd")]
            closed = [
                errno_of(lambda: os.close(os.open(f"{folder}/{name}", os.O_RDONLY)))
                for folder in ("/proc/self", f"/proc/self/task/{pid}")
                for name in ("net/tcp", "mounts", "mountinfo", "cgroup")
            ]
            return len(pins) > 10, set(own) <= {0, errno.ENOENT}, names, sorted(set(closed))

        self.assertEqual(in_child(attempt), [True, True, [True, True], [errno.EACCES]])

    def test_programs_still_run(self) -> None:
        run = lambda: subprocess.run(["/bin/echo", "out"], capture_output=True, text=True).stdout  # noqa: E731
        self.assertEqual(self.restricted(run), "out\n")

    @unittest.skipUnless(landlock.abi() >= 4, "this Landlock cannot close TCP")
    def test_tcp_is_closed_or_open(self) -> None:
        def bind() -> None:
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", 0))

        self.assertEqual(self.restricted(lambda: errno_of(bind)), errno.EACCES)
        self.assertEqual(self.restricted(lambda: errno_of(bind), tcp=True), 0)

    @unittest.skipUnless(landlock.abi() >= 6, "this Landlock cannot scope signals")
    def test_signals_stay_inside(self) -> None:
        parent = os.getpid()

        def attempt() -> Any:
            child = os.fork()
            if child == 0:
                signal.pause()
            inside = errno_of(lambda: os.kill(child, signal.SIGKILL))
            os.waitpid(child, 0)
            return errno_of(lambda: os.kill(parent, 0)), inside

        self.assertEqual(self.restricted(attempt), [errno.EPERM, 0])


class ShortfallTest(unittest.TestCase):
    """What the level `landlock` needs, told in one place."""

    def test_a_shared_user_needs_scoped_signals(self) -> None:
        for version in range(6):
            self.assertIn(
                "needs version 6 of Landlock (Linux 6.12)", landlock.shortfall(version, has_own_uids=False) or ""
            )
        self.assertIsNone(landlock.shortfall(6, has_own_uids=False))

    def test_users_of_their_own_need_less(self) -> None:
        self.assertIn("needs version 2 of Landlock (Linux 5.19)", landlock.shortfall(1, has_own_uids=True) or "")
        self.assertIn("this kernel has none", landlock.shortfall(0, has_own_uids=True) or "")
        self.assertIsNone(landlock.shortfall(2, has_own_uids=True))


if __name__ == "__main__":
    unittest.main()
