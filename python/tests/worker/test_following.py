"""Tests of copies of large workspaces, in which only what was touched is looked at."""

import mmap
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from _vivarium.worker.snapshots import FOLLOWED_PATHS, Manifest, Snapshots

from tests.changes import change

LISTED: list[str] = []


def note_listings(event: str, arguments: tuple) -> None:
    """Remember which directories are listed."""
    if event in ("os.scandir", "os.listdir"):
        LISTED.append(str(arguments[0]))


sys.addaudithook(note_listings)


class Base(unittest.TestCase):
    def setUp(self) -> None:
        in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # these tests write thousands of files
        self.home = Path(tempfile.mkdtemp(dir=in_memory))
        self.addCleanup(lambda: subprocess.run(["rm", "-rf", str(self.home)], check=False))
        self.work = self.home / "work"
        self.work.mkdir()
        self.snapshots = self.open("store")
        for number in range(2 * FOLLOWED_PATHS):
            folder = self.work / f"d{number % 5}"
            folder.mkdir(exist_ok=True)
            (folder / f"f{number}").write_text(str(number))

    def open(self, store: str, max_files: int = 1_000) -> Snapshots:
        snapshots = Snapshots(str(self.work), str(self.home / store), max_files=max_files, max_bytes=10_000_000)
        self.addCleanup(snapshots.detach)
        return snapshots

    def follow(self) -> None:
        """Two looks: the first finds out that the workspace is large."""
        self.take()
        self.take()

    def take(self) -> Manifest:
        manifest = self.snapshots.take()
        self.assertIsInstance(manifest, Manifest, manifest)
        return manifest

    def described(self, manifest: Manifest, store: str) -> dict[str, tuple[object, ...]]:
        """What a manifest says, with the contents of the copies instead of their names."""
        found: dict[str, tuple[object, ...]] = {}
        for path, entry in manifest.entries.items():
            content = entry.content
            if entry.kind == "file":
                content = (self.home / store / entry.content).read_text()
            found[path] = (entry.kind, entry.mode, content)
        return found

    def assert_exact(self) -> None:
        """Compare what is known with what a look at everything finds."""
        manifest = self.take()
        self.snapshots.forget(None)
        shutil.rmtree(self.home / "fresh", ignore_errors=True)
        full = self.open("fresh").take()
        assert isinstance(full, Manifest)
        self.assertEqual(self.described(manifest, "store"), self.described(full, "fresh"))


class Quiet(Base):
    def test_what_nobody_touched_is_not_listed_again(self) -> None:
        self.follow()
        LISTED.clear()
        (self.work / "d0/f0").write_text("changed")
        manifest = self.take()
        self.snapshots.forget(None)
        self.assertEqual(LISTED, [])
        self.assertEqual(self.described(manifest, "store")["d0/f0"][2], "changed")

    def test_a_workspace_that_is_too_large_is_not_listed_again_while_nothing_is_removed(self) -> None:
        self.snapshots = self.open("store", max_files=150)
        for _ in range(2):
            self.assertIn("more than 150 files", str(self.snapshots.take()))
        LISTED.clear()
        (self.work / "d0/more").write_text("x")
        (self.work / "d0/f0").write_text("changed")
        self.assertIn("more than 150 files", str(self.snapshots.take()))
        self.assertEqual(LISTED, [])
        for folder in ("d0", "d1", "d2"):
            shutil.rmtree(self.work / folder)
        self.assert_exact()

    def test_copies_of_replaced_content_are_removed(self) -> None:
        self.follow()
        self.snapshots.forget(None)
        count = len(os.listdir(self.home / "store"))
        for text in ("one", "two", "three"):
            (self.work / "d0/f0").write_text(text)
            self.take()
            self.snapshots.forget(None)
            self.assertEqual(len(os.listdir(self.home / "store")), count)

    def test_a_copy_that_vanished_is_made_again(self) -> None:
        self.follow()
        shutil.rmtree(self.home / "store")
        self.assert_exact()


class Exact(Base):
    def setUp(self) -> None:
        super().setUp()
        self.follow()

    def test_a_file_with_two_names_is_noticed_under_both(self) -> None:
        os.link(self.work / "d0/f0", self.work / "d1/other")
        self.assert_exact()
        (self.work / "d1/other").write_text("written by the second name")
        self.assert_exact()
        (self.work / "d0/f0").write_text("by the first")
        self.assert_exact()
        (self.work / "d0/f0").unlink()
        (self.work / "d1/other").write_text("alone")
        self.assert_exact()

    def test_a_file_that_was_mapped_before_it_was_followed_is_noticed(self) -> None:
        self.snapshots = self.open("other-store")
        with (self.work / "d0/f0").open("r+b") as file, mmap.mmap(file.fileno(), 1) as mapped:
            self.snapshots.take()
            self.snapshots.take()
            for letter in b"abc":
                mapped[0] = letter
                manifest = self.take()
                self.assertEqual(self.described(manifest, "other-store")["d0/f0"][2], chr(letter))

    def test_a_mapped_file_is_noticed_and_restored_each_time(self) -> None:
        with (self.work / "d0/f0").open("r+b") as file:
            mapped = mmap.mmap(file.fileno(), 1)
        for letter in b"abcd":
            mapped[0] = letter
            manifest = self.take()
            self.assertEqual(self.described(manifest, "store")["d0/f0"][2], chr(letter))
            mapped[0] = ord("z")
            self.assertEqual(self.snapshots.restore(manifest), [])
            self.assertEqual((self.work / "d0/f0").read_text(), chr(letter))
        mapped.close()

    def test_directories_that_are_moved_keep_their_contents(self) -> None:
        (self.work / "d0/deep/er").mkdir(parents=True)
        (self.work / "d0/deep/er/x").write_text("x")
        self.take()
        (self.work / "d0").rename(self.work / "d1/moved")
        self.assert_exact()
        (self.work / "d1/moved/deep/er/x").write_text("y")
        self.assert_exact()
        (self.work / "d1/moved").rename(self.home / "outside")
        (self.home / "outside/deep/er/x").write_text("not ours any more")
        self.assert_exact()
        (self.home / "outside").rename(self.work / "d0")
        self.assert_exact()

    def test_a_directory_that_is_replaced_within_one_look(self) -> None:
        (self.work / "d0").rename(self.home / "gone")
        (self.work / "d0").mkdir()
        (self.work / "d0/f0").write_text("other")
        self.assert_exact()
        shutil.rmtree(self.work / "d1")
        (self.work / "d1").write_text("now a file")
        self.assert_exact()
        (self.work / "d1").unlink()
        (self.work / "d1").symlink_to("d2")
        self.assert_exact()

    def test_more_events_than_the_kernel_keeps(self) -> None:
        limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
        for number in range(limit // 2 + 10):
            (self.work / f"d{number % 5}/f{number % 5}").write_text(str(number))
        self.assert_exact()

    def test_a_descriptor_that_the_program_closes(self) -> None:
        for closed in (1, 2):
            os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
            taken = os.open("/dev/null", os.O_RDONLY)
            (self.work / "d0/f0").write_text(f"closed {closed}")
            self.assert_exact()
            os.close(taken)

    def test_modes_links_and_special_files(self) -> None:
        (self.work / "d0/f0").chmod(0o600)
        (self.work / "d2").chmod(0o700)
        self.work.chmod(0o711)
        (self.work / "link").symlink_to("nowhere")
        os.mkfifo(self.work / "fifo")
        self.assert_exact()
        self.assertEqual(len(self.take().notes), 1)

    def test_random_work_is_told_exactly(self) -> None:
        chance = random.Random(os.environ.get("SEED", "7"))
        for _ in range(40):
            for _ in range(chance.randrange(12)):
                change(self.work, chance)
            self.assert_exact()


if __name__ == "__main__":
    unittest.main()
