"""Tests of copying and restoring the workspace."""

import os
import resource
import shutil
import socket
import stat
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from _vivarium.worker.removal import remove
from _vivarium.worker.snapshots import FOLLOWED_PATHS, MAX_DEPTH, Manifest, Snapshots


def state_of(root: Path) -> dict[str, tuple[object, ...]]:
    """Return kind, mode and content of everything below a path."""
    found: dict[str, tuple[object, ...]] = {}
    for folder, folders, files in os.walk(root):
        for name in [*folders, *files]:
            path = Path(folder, name)
            status = path.lstat()
            if path.is_symlink():
                content: object = os.readlink(path)
            else:
                content = path.read_bytes() if stat.S_ISREG(status.st_mode) else None
            mode = 0 if path.is_symlink() else status.st_mode
            found[str(path.relative_to(root))] = (mode, content)
    return found


class Base(unittest.TestCase):
    def setUp(self) -> None:
        self.home = Path(tempfile.mkdtemp())
        self.addCleanup(lambda: subprocess.run(["rm", "-rf", str(self.home)], check=False))
        self.work = self.home / "work"
        self.work.mkdir()
        self.store = self.home / "store"
        self.snapshots = Snapshots(str(self.work), str(self.store), max_files=1_000, max_bytes=10_000_000)

    def take(self) -> Manifest:
        manifest = self.snapshots.take()
        self.assertIsInstance(manifest, Manifest, manifest)
        return manifest

    def settle(self) -> None:
        """Wait until files count as settled."""
        time.sleep(0.07)


class Uploads(Base):
    """The host writes a file under a draft name first, and may be at it while a copy is made or restored."""

    DRAFT = ".upload-0123456789abcdef"

    def test_a_draft_that_has_got_its_name_does_not_come_back(self) -> None:
        (self.work / self.DRAFT).write_text("half")
        manifest = self.take()
        (self.work / self.DRAFT).rename(self.work / "data.csv")
        self.snapshots.restore(manifest)
        self.assertEqual(os.listdir(self.work), [])

    def test_a_draft_that_is_being_written_stays(self) -> None:
        manifest = self.take()
        (self.work / self.DRAFT).write_text("half")
        self.snapshots.restore(manifest)
        self.assertEqual(os.listdir(self.work), [self.DRAFT])

    def test_a_draft_in_a_followed_workspace_is_not_copied(self) -> None:
        for number in range(FOLLOWED_PATHS + 1):
            (self.work / str(number)).touch()
        self.take()
        self.take()
        (self.work / self.DRAFT).write_text("half")
        self.assertNotIn(self.DRAFT, self.take().entries)

    def test_files_with_similar_names_are_copied(self) -> None:
        names = [".upload-0123456789abcdeg", ".upload-0123", "upload-0123456789abcdef"]
        for name in names:
            (self.work / name).touch()
        self.assertLessEqual(set(names), set(self.take().entries))


class Restoring(Base):
    def fill(self) -> None:
        (self.work / "a.txt").write_text("one")
        (self.work / "d/e").mkdir(parents=True)
        (self.work / "d/e/f.bin").write_bytes(bytes(range(256)) * 100)
        (self.work / "empty").mkdir()
        (self.work / "link").symlink_to("/nowhere/at all")
        (self.work / "dirlink").symlink_to("d")
        (self.work / "run.sh").write_text("#!/bin/sh")
        (self.work / "run.sh").chmod(0o755)
        (self.work / os.fsdecode(b"odd\xff\nname")).write_text("x")

    def test_everything_is_restored(self) -> None:
        self.fill()
        before = state_of(self.work)
        manifest = self.take()
        (self.work / "a.txt").write_text("two")
        shutil.rmtree(self.work / "d")
        (self.work / "d").symlink_to("/tmp")
        (self.work / "link").unlink()
        (self.work / "link").mkdir()
        (self.work / "link/x").write_text("new")
        (self.work / "run.sh").chmod(0o600)
        (self.work / "empty").rmdir()
        (self.work / "empty").write_text("now a file")
        (self.work / "dirlink").unlink()
        (self.work / "new/deep").mkdir(parents=True)
        os.mkfifo(self.work / "new/fifo")
        (self.work / os.fsdecode(b"odd\xff\nname")).unlink()
        self.assertEqual(self.snapshots.restore(manifest), [])
        self.assertEqual(state_of(self.work), before)

    def test_times_are_restored_and_open_files_stay_the_same_file(self) -> None:
        path = self.work / "log"
        path.write_text("first")
        os.utime(path, ns=(10**18, 10**18))
        manifest = self.take()
        with path.open("a") as log:
            log.write(" second")
            log.flush()
            self.snapshots.restore(manifest)
            self.assertEqual((path.read_text(), path.stat().st_mtime_ns), ("first", 10**18))
            log.write(" third")
        self.assertEqual(path.read_text(), "first third")

    def test_an_older_manifest_can_be_restored_after_a_newer_one(self) -> None:
        path = self.work / "x"
        manifests = []
        for text in ("one", "two", "six"):
            path.write_text(text)
            manifests.append(self.take())
        for number in (0, 2, 1, 1, 0):
            self.assertEqual(self.snapshots.restore(manifests[number]), [])
            self.assertEqual(path.read_text(), ("one", "two", "six")[number])

    def test_quick_changes_of_the_same_size_are_noticed(self) -> None:
        path = self.work / "x"
        for number in range(20):
            path.write_text(f"{number:03}")
            manifest = self.take()
            path.write_text("abc")
            self.snapshots.restore(manifest)
            self.assertEqual(path.read_text(), f"{number:03}")

    def test_only_changed_files_are_copied(self) -> None:
        self.fill()
        self.settle()
        self.take()
        count = len(os.listdir(self.store))
        (self.work / "a.txt").write_text("changed")
        self.take()
        self.assertEqual(len(os.listdir(self.store)), count + 1)

    def test_links_are_never_followed(self) -> None:
        outside = self.home / "outside"
        outside.mkdir()
        (outside / "precious").write_text("keep")
        manifest = self.take()
        (self.work / "out").symlink_to(outside)
        (self.work / "file").symlink_to(outside / "precious")
        self.snapshots.restore(manifest)
        self.assertEqual((outside / "precious").read_text(), "keep")
        self.assertEqual(os.listdir(self.work), [])

    def test_a_file_replaced_by_a_link_does_not_write_through_it(self) -> None:
        precious = self.home / "precious"
        precious.write_text("keep")
        (self.work / "x").write_text("mine")
        manifest = self.take()
        (self.work / "x").unlink()
        (self.work / "x").symlink_to(precious)
        self.snapshots.restore(manifest)
        self.assertEqual((precious.read_text(), (self.work / "x").read_text()), ("keep", "mine"))
        os.link(precious, self.work / "hard")
        (self.work / "x").unlink()
        os.rename(self.work / "hard", self.work / "x")
        self.snapshots.restore(manifest)
        self.assertEqual((precious.read_text(), (self.work / "x").read_text()), ("keep", "mine"))

    def test_copies_that_no_manifest_uses_are_removed(self) -> None:
        (self.work / "x").write_text("one")
        first = self.take()
        (self.work / "x").write_text("three")
        second = self.take()
        self.snapshots.forget("too large")
        self.assertEqual(len(os.listdir(self.store)), 1)
        self.assertEqual(len(self.snapshots.restore(first)), 1)
        self.assertEqual(self.snapshots.restore(second), [])

    def test_a_copy_that_vanished_is_made_again(self) -> None:
        (self.work / "x").write_text("one")
        self.settle()
        self.take()
        for name in os.listdir(self.store):
            (self.store / name).unlink()
        manifest = self.take()
        (self.work / "x").unlink()
        self.assertEqual(self.snapshots.restore(manifest), [])
        self.assertEqual((self.work / "x").read_text(), "one")


class Odd(Base):
    def test_a_workspace_over_its_limits_is_not_copied_and_says_why(self) -> None:
        with (self.work / "sparse").open("wb") as file:
            file.truncate(10**12)
        self.assertIn("bytes", self.snapshots.take())
        (self.work / "sparse").unlink()
        for number in range(1_001):
            (self.work / str(number)).touch()
        self.assertIn("files", self.snapshots.take())

    def test_special_files_are_left_alone(self) -> None:
        os.mkfifo(self.work / "fifo")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.work / "socket"))
            manifest = self.take()
        self.assertEqual(len(manifest.notes), 2)
        (self.work / "new").touch()
        self.snapshots.restore(manifest)
        self.assertEqual(sorted(os.listdir(self.work)), ["fifo", "socket"])

    def test_a_file_that_cannot_be_written_leaves_nothing_half_done(self) -> None:
        (self.work / "large").write_bytes(b"x" * 1_000_000)
        manifest = self.take()
        (self.work / "large").unlink()
        notes = self.restore_without_room(manifest)
        self.assertEqual([len(notes), os.listdir(self.work)], [1, []])

    def test_a_file_that_cannot_be_overwritten_stays_as_it_is(self) -> None:
        (self.work / "large").write_bytes(b"x" * 1_000_000)
        manifest = self.take()
        (self.work / "large").write_bytes(b"y" * 10)
        (self.work / "large").chmod(0o644)
        notes = self.restore_without_room(manifest)
        self.assertEqual([len(notes), os.listdir(self.work)], [1, ["large"]])
        self.assertEqual((self.work / "large").read_bytes(), b"y" * 10)
        self.assertEqual(stat.S_IMODE((self.work / "large").stat().st_mode), 0o644)

    def restore_without_room(self, manifest: Manifest) -> list[str]:
        """Restore while no file can grow above 100,000 bytes."""
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        try:
            return self.snapshots.restore(manifest)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    def test_very_deep_trees_are_refused_and_removed(self) -> None:
        manifest = self.take()
        folder = os.open(self.work, os.O_RDONLY)
        for _ in range(3_000):
            os.mkdir("d" * 20, dir_fd=folder)
            below = os.open("d" * 20, os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = below
        os.close(folder)
        self.assertIn(f"{MAX_DEPTH} levels", self.snapshots.take())
        self.assertEqual(self.snapshots.restore(manifest), [])
        self.assertEqual(os.listdir(self.work), [])

    def test_a_missing_workspace_is_reported(self) -> None:
        shutil.rmtree(self.work)
        self.assertIsInstance(self.snapshots.take(), str)
        self.assertEqual(len(self.snapshots.restore(Manifest({}))), 1)

    def test_directories_without_permissions_are_copied_and_restored(self) -> None:
        """Matters to a user other than root."""
        (self.work / "shut/inner").mkdir(parents=True)
        (self.work / "shut/inner/x").write_text("one")
        (self.work / "shut/inner").chmod(0)
        (self.work / "shut").chmod(0)
        manifest = self.take()
        self.assertEqual(stat.S_IMODE((self.work / "shut").stat().st_mode), 0)
        self.assertIn("shut/inner/x", manifest.entries)
        (self.work / "shut").chmod(0o700)
        (self.work / "shut/inner").chmod(0o700)
        (self.work / "shut/inner/x").write_text("two")
        (self.work / "shut/inner/new/below").mkdir(parents=True)
        (self.work / "shut/inner/new/below").chmod(0)
        (self.work / "shut/inner/new").chmod(0)
        (self.work / "shut/inner").chmod(0)
        (self.work / "shut").chmod(0)
        self.assertEqual(self.snapshots.restore(manifest), [])
        self.assertEqual(stat.S_IMODE((self.work / "shut").stat().st_mode), 0)
        (self.work / "shut").chmod(0o700)
        (self.work / "shut/inner").chmod(0o700)
        self.assertEqual(os.listdir(self.work / "shut/inner"), ["x"])
        self.assertEqual((self.work / "shut/inner/x").read_text(), "one")

    @unittest.skipIf(os.geteuid() == 0, "root reads everything")
    def test_unreadable_files_are_noted_and_left_alone(self) -> None:
        (self.work / "x").write_text("one")
        (self.work / "x").chmod(0)
        manifest = self.take()
        self.assertEqual(len(manifest.notes), 1)
        self.assertEqual(self.snapshots.restore(manifest), [])
        self.assertTrue((self.work / "x").exists())

    def test_a_single_file_is_removed(self) -> None:
        (self.work / "x").touch()
        remove(str(self.work / "x"), str(self.work))
        self.assertEqual(os.listdir(self.work), [])


if __name__ == "__main__":
    unittest.main()
