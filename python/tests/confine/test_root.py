"""Tests of building a root: it shows what was asked for, and nothing else."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from _vivarium.confine import kernel
from _vivarium.confine.root import mounts
from _vivarium.confine.root.build import Bind, Root, build, system_paths

from tests.confine.confined import SESSION_UID, Failed, errno_of, identities, in_namespaces, needs_root

SHOWN = (*system_paths(), sys.prefix, sys.base_prefix)


class RootTest(unittest.TestCase):
    def setUp(self) -> None:
        self.host = tempfile.mkdtemp(prefix="vivarium-test-")  # below the host's /tmp, which the build covers
        self.addCleanup(shutil.rmtree, self.host)
        os.chmod(self.host, 0o755)
        os.mkdir(f"{self.host}/open")
        os.chmod(f"{self.host}/open", 0o777)
        with open(f"{self.host}/note", "w") as note:
            note.write("hello")

    def each(self, work: Callable[[], Any], **options: Any) -> list[Any]:
        """`work` in a root built by each identity."""

        def built() -> Any:
            build(Root(read_only=SHOWN, **options))
            return work()

        return [in_namespaces(built, uid) for uid in identities()]

    def test_nothing_of_the_host_is_left(self) -> None:
        def look() -> Any:
            return sorted(os.listdir("/")), os.listdir("/etc"), os.path.exists(self.host), os.getcwd()

        for names, etc, is_there, cwd in self.each(look):
            expected = {"dev", "etc", "proc", *(path.split("/")[1] for path in SHOWN if path != "/")}
            self.assertLessEqual(set(names), expected)
            self.assertNotIn("shadow", etc)
            self.assertFalse(is_there)
            self.assertEqual(cwd, "/")

    def test_everything_shown_is_read_only(self) -> None:
        def attempt() -> Any:
            paths = ("/x", "/usr/x", "/etc/x", "/dev/x", "/etc/passwd", "/data/x", "/data/inner/x")
            return [errno_of(lambda: os.open(path, os.O_CREAT | os.O_WRONLY)) for path in paths]

        for numbers in self.each(attempt, binds=(Bind(f"{self.host}/open", "/data"),)):
            self.assertLessEqual(set(numbers), {errno.EROFS, errno.EACCES, errno.ENOENT})
            self.assertEqual(numbers[0], errno.EROFS)
            self.assertEqual(numbers[5], errno.EROFS)

    def test_older_kernels_build_the_same_root(self) -> None:
        def attempt() -> Any:
            return [errno_of(lambda: os.open(f"/{name}/x", os.O_CREAT | os.O_WRONLY)) for name in ("usr", "data")]

        with mock.patch.dict(kernel.SYSCALLS):
            del kernel.SYSCALLS["open_tree"]
            for numbers in self.each(attempt, binds=(Bind(f"{self.host}/open", "/data"),)):
                self.assertEqual(numbers, [errno.EROFS] * 2)

    @needs_root
    def test_read_only_reaches_mounts_below(self) -> None:
        for bind in (mounts.bind, mounts.bind_by_remount):
            self.assertEqual(in_namespaces(lambda: self._below(bind), 0), [errno.EROFS, errno.EROFS])

    def _below(self, bind: Callable[..., None]) -> list[int]:
        """Bind a directory that has another mount in it, and try to write to both."""
        kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
        os.makedirs(f"{self.host}/open/inner dir", exist_ok=True)
        kernel.mount("tmpfs", f"{self.host}/open/inner dir", "tmpfs")
        os.makedirs(f"{self.host}/shown", exist_ok=True)
        bind(f"{self.host}/open", f"{self.host}/shown", writable=False, mountinfo="/proc/self/mountinfo")
        paths = (f"{self.host}/shown/x", f"{self.host}/shown/inner dir/x")
        return [errno_of(lambda: os.open(path, os.O_CREAT | os.O_WRONLY)) for path in paths]

    def test_binds_show_files_and_directories_at_nested_places(self) -> None:
        def use() -> Any:
            with open("/desk/out", "w") as out:
                out.write("x")
            os.unlink("/desk/out")
            with open("/home/u/.local/share/note") as note:
                text = note.read()
            modes = [stat.S_IMODE(os.stat(path).st_mode) for path in ("/home", "/home/u/.local/share")]
            return (
                text,
                modes,
                errno_of(lambda: os.open("/home/u/.local/share/note", os.O_WRONLY)),
                os.readlink("/mnt/data"),
            )

        binds = (
            Bind(f"{self.host}/note", "/home/u/.local/share/note"),
            Bind(f"{self.host}/open", "/desk", writable=True),
        )
        for text, modes, number, link in self.each(use, binds=binds, symlinks=(("/mnt/data", "/desk"),)):
            self.assertEqual((text, modes, link), ("hello", [0o755, 0o755], "/desk"))
            self.assertIn(number, (errno.EROFS, errno.EACCES))

    def test_files_of_etc_that_the_host_replaces_stay_as_they_were(self) -> None:
        for uid in identities():
            self.assertEqual(in_namespaces(self._replaced_etc, uid), ["old libraries", "new names"])

    def _replaced_etc(self) -> list[str]:
        """Build a root, replace files of the machine as a package manager does, and build another root from the first."""
        kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
        kernel.mount("tmpfs", "/etc", "tmpfs", 0, "mode=755")
        for name, text in (("ld.so.cache", "old libraries"), ("real.conf", "old names")):
            Path("/etc", name).write_text(text)
        os.mkdir("/etc/fonts")
        os.symlink("real.conf", "/etc/resolv.conf")
        build(Root(read_only=SHOWN, binds=(Bind("/", "/.host"),), tmpfs=(("/tmp", 1 << 20, 100),), network=True))
        # `/etc` in there is the one of the machine, which we can still change by the mount that we bound read-only
        kernel.mount(None, "/.host/etc", None, kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_NOSUID | kernel.MS_NODEV)
        for name, text in (("ld.so.cache", "new libraries"), ("real.conf", "new names")):
            Path("/.host/etc/draft").write_text(text)
            os.rename("/.host/etc/draft", f"/.host/etc/{name}")
        os.rmdir("/.host/etc/fonts")
        build(Root(read_only=SHOWN, host="/.host", network=True))
        return [Path("/etc/ld.so.cache").read_text(), Path("/etc/resolv.conf").read_text()]

    def test_a_missing_bind_is_an_error_that_names_it(self) -> None:
        with self.assertRaisesRegex(Failed, "no-such-thing"):
            self.each(lambda: None, binds=(Bind(f"{self.host}/no-such-thing", "/x"),))

    def test_a_bind_may_lie_inside_a_tmpfs(self) -> None:
        options = {"binds": (Bind(f"{self.host}/note", "/tmp/a/note"),), "tmpfs": (("/tmp", 1 << 20, 100),)}
        for names in self.each(lambda: os.listdir("/tmp/a"), **options):
            self.assertEqual(names, ["note"])

    def test_memory_filesystems_are_bounded(self) -> None:
        def fill() -> Any:
            def too_much() -> None:
                with open("/tmp/big", "wb") as big:
                    big.write(bytes(2 << 20))

            def too_many() -> None:
                for index in range(200):
                    os.mkdir(f"/tmp/{index}")

            def too_shared() -> None:
                with open("/dev/shm/big", "wb") as big:
                    big.write(bytes(2 << 20))

            return [errno_of(too_many), errno_of(too_much), errno_of(too_shared)]

        for numbers in self.each(fill, tmpfs=(("/tmp", 1 << 20, 100),), shm=1 << 20):
            self.assertEqual(numbers, [errno.ENOSPC] * 3)

    def test_proc_is_private_and_masked(self) -> None:
        def look() -> Any:
            pids = [name for name in os.listdir("/proc") if name.isdigit()]
            texts = [
                Path(f"/proc/{name}").read_text()
                for name in ("cmdline", "kallsyms", "keys")
                if os.path.exists(f"/proc/{name}")
            ]
            paths = ("sys/kernel/hostname", "self/autogroup", "self/oom_score_adj", "self/comm", "thread-self/comm")
            writes = {errno_of(lambda path=path: os.open(f"/proc/{path}", os.O_WRONLY)) for path in paths}
            return pids, texts, os.listdir("/proc/fs"), sorted(writes)

        for pids, texts, fs, writes in self.each(look):
            self.assertEqual((pids, set(texts), fs), (["1"], {""}, []))
            self.assertLessEqual(set(writes), {errno.EROFS, errno.EACCES, errno.ENOENT})

    def test_proc_can_be_plain_outer_or_missing(self) -> None:
        counts = {
            kind: self.each(lambda: len(os.listdir("/proc")), proc=kind)[0] for kind in ("plain", "outer", "none")
        }
        self.assertEqual(counts["none"], 0)
        self.assertGreater(counts["plain"], 10)
        self.assertGreater(counts["outer"], 10)

    def test_only_harmless_devices_are_shown(self) -> None:
        def look() -> Any:
            with open("/dev/null", "wb") as null, open("/dev/urandom", "rb") as random:
                null.write(random.read(8))
            return sorted(os.listdir("/dev"))

        expected = ["fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "urandom", "zero"]
        for names in self.each(look):
            self.assertEqual(names, expected)
        for names in self.each(look, devices=("null", "urandom")):
            self.assertNotIn("zero", names)

    def test_the_network_flag_shows_name_resolution(self) -> None:
        def look() -> Any:
            return [Path(f"/etc/{name}").read_text() for name in ("resolv.conf", "hosts")]

        hosts = Path("/etc/hosts").read_text()
        for resolv, shown in self.each(look):
            self.assertEqual(resolv, "")
            self.assertTrue(shown.startswith("127.0.0.1 localhost\n"))
        for _, shown in self.each(look, network=True):
            self.assertEqual(shown, hosts)

    def test_programs_of_the_system_run(self) -> None:
        def run() -> str:
            return subprocess.run(
                ["/bin/sh", "-c", "ls /usr | head -1; id -un"], capture_output=True, text=True, check=True
            ).stdout

        for text in self.each(run):
            self.assertIn(text, ("bin\nroot\n", "bin\nuser\n"))

    def test_roots_nest(self) -> None:
        """As the product does it: an unmasked root first, and inside it a masked one for each session."""

        def enclosure() -> Any:
            build(Root(read_only=SHOWN, binds=(Bind("/.sessions", "/workspace", writable=True),)))
            open("/workspace/made", "w").close()
            return sorted(os.listdir("/")), os.getuid(), [name for name in os.listdir("/proc") if name.isdigit()]

        def stage() -> Any:
            binds = (Bind(f"{self.host}/open", "/.sessions", writable=True),)
            build(Root(read_only=SHOWN, proc="plain", binds=binds, tmpfs=(("/tmp", 1 << 20, 100),)))
            return in_namespaces(enclosure, SESSION_UID if os.getuid() == 0 else os.getuid())

        for uid in {0, identities()[-1]} if os.getuid() == 0 else identities():
            names, inside, pids = in_namespaces(stage, uid)
            self.assertNotIn(".sessions", names)
            self.assertEqual((inside, pids), (1000, ["1"]))
            os.unlink(f"{self.host}/open/made")


if __name__ == "__main__":
    unittest.main()
