"""What the host is told about the files of a session, compared with what a look at all of them finds."""

from __future__ import annotations

import json
import mmap
import os
import random
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from _vivarium.surveyor import following
from _vivarium.surveyor.disk import DiskMeter
from _vivarium.surveyor.following import Following
from _vivarium.surveyor.processes import Processes

from tests.changes import change

LONG_S = 30.0


class FollowingTest(unittest.TestCase):
    """A home with some files, and what the host knows of them."""

    def setUp(self) -> None:
        in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.base = Path(tempfile.mkdtemp(dir=in_memory))
        self.addCleanup(subprocess.run, ["rm", "-rf", str(self.base)], check=True)
        self.home = self.base / "home"
        self.work = self.home / "workspace"
        for number in range(100):
            folder = self.work / f"d{number % 5}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"f{number}").write_text(str(number))
        (self.home / "rollback").mkdir()
        self.following = Following(str(self.base), Processes())
        self.known: dict[str, tuple[int, ...]] = {}
        self.marks: dict[str, object] = {}

    def ask(self, home: str = "home") -> dict[str, list[str]] | None:
        place = {"workspace": home, "pid1": 0, "worker": os.getpid(), "group": None}
        answer: dict[str, Any] = self.following.changes({"place": place, "after": self.marks.get(home)})
        self.marks[home] = answer["mark"]
        return answer["found"]

    def present(self) -> dict[str, tuple[int, ...]]:
        """Look at every file."""
        found = {}
        for folder, folders, files in os.walk(self.work):
            for path in (os.path.join(folder, name) for name in [*folders, *files]):
                if os.path.islink(path) or not os.path.isdir(path):
                    found[os.path.relpath(path, self.work)] = identity(path)
        return found

    def begin(self) -> None:
        self.assertIsNone(self.ask())
        self.known = self.present()

    def assert_exact(self) -> None:
        """Ask, as the host does: files with several names are looked at in any case, and new ones mean a full look."""
        answer = self.ask()
        if answer is None:
            self.known = self.present()
            return
        answer = json.loads(json.dumps(answer))
        linked = {path for path, (_, links, *_) in self.known.items() if links > 1}
        for folder in answer["folders"]:
            self.known = {path: known for path, known in self.known.items() if not path.startswith(f"{folder}/")}
        for path in {*answer["touched"], *linked}:
            self.known.pop(path, None)
            if not os.path.isdir(self.work / path) or os.path.islink(self.work / path):
                try:
                    self.known[path] = identity(self.work / path)
                except (FileNotFoundError, NotADirectoryError):
                    continue
        if {path for path, (_, links, *_) in self.known.items() if links > 1} - linked:
            self.known = self.present()
        self.assertEqual(self.known, self.present())

    def test_only_what_was_touched_is_told(self) -> None:
        self.begin()
        self.assertEqual(self.ask(), {"touched": [], "folders": []})
        (self.work / "d0/f0").write_text("changed")
        (self.work / "d1/f1").unlink()
        (self.work / os.fsdecode(b"odd\xff\nname")).touch()
        (self.work / "new/er").mkdir(parents=True)
        (self.work / "new/er/x").touch()
        answer = self.ask()
        assert answer is not None
        expected = {"d0/f0", "d1/f1", os.fsdecode(b"odd\xff\nname"), "new", "new/er", "new/er/x"}
        self.assertLessEqual(expected, set(answer["touched"]))
        self.assertEqual(answer["folders"], ["new"])
        (self.work / "new/er/x").write_text("in a directory that is new")
        self.assertIn("new/er/x", (self.ask() or {})["touched"])

    def test_random_work_is_told_exactly(self) -> None:
        self.begin()
        chance = random.Random(os.environ.get("SEED", "7"))
        for _ in range(60):
            for _ in range(chance.randrange(12)):
                change(self.work, chance)
            self.assert_exact()

    def test_a_home_that_is_moved_away_is_forgotten(self) -> None:
        self.begin()
        self.home.rename(self.base / "aside")
        self.following.drain()
        self.assertEqual(self.following.next_tick_s(), -1)
        self.assertIsNone(self.ask())

    def test_an_answer_that_never_arrived_is_not_taken_for_known(self) -> None:
        self.begin()
        before = dict(self.marks)
        (self.work / "d0/f0").write_text("told in an answer that is lost")
        self.ask()
        self.marks = before
        self.assertIsNone(self.ask())
        self.assertEqual(self.ask(), {"touched": [], "folders": []})

    def test_homes_do_not_disturb_each_other(self) -> None:
        other = self.base / "other/workspace"
        other.mkdir(parents=True)
        self.begin()
        self.assertIsNone(self.ask("other"))
        (other / "x").touch()
        self.assertEqual(self.ask(), {"touched": [], "folders": []})
        self.assertEqual((self.ask("other") or {})["touched"], ["x"])

    def test_links_out_of_the_home_are_not_followed(self) -> None:
        outside = self.base / "outside"
        outside.mkdir()
        self.begin()
        (self.work / "out").symlink_to(outside)
        self.ask()
        (outside / "secret").touch()
        self.assertNotIn("out/secret", (self.ask() or {"touched": ["not followed"]})["touched"])

    def test_what_is_too_large_is_not_followed_and_not_tried_again_at_once(self) -> None:
        with mock.patch.object(following, "MAX_WATCHES", 3):
            self.assertIsNone(self.ask())
        self.assertIsNone(self.ask())
        self.assertEqual(self.following.next_tick_s(), -1)
        with mock.patch.object(time, "monotonic", return_value=time.monotonic() + following.RETRY_S + 1):
            self.assertIsNone(self.ask())
        self.assertEqual(self.ask(), {"touched": [], "folders": []})

    def test_more_events_than_the_kernel_keeps_mean_a_look_at_everything(self) -> None:
        self.begin()
        limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
        for number in range(limit + 10):
            (self.work / f"d{number % 5}/f{number % 5}").chmod(0o600)
        self.assertIsNone(self.ask())
        self.assertEqual(self.ask(), {"touched": [], "folders": []})

    def test_a_file_that_was_mapped_before_is_told_each_time(self) -> None:
        with (self.work / "d0/f0").open("r+b") as file, mmap.mmap(file.fileno(), 1) as mapped:
            self.begin()
            mapped[0] = ord("x")
            self.assertIn("d0/f0", (self.ask() or {})["touched"])
            self.assertIn("d0/f0", (self.ask() or {})["touched"])

    def test_a_quiet_home_is_measured_once(self) -> None:
        self.begin()
        meter = DiskMeter(str(self.home), self.following, list)
        meter.max_bytes = 1 << 30
        first = meter.measure(LONG_S)
        with mock.patch.object(os, "scandir", side_effect=AssertionError("walked again")):
            meter.expire()
            self.assertEqual(meter.measure(LONG_S), first)
            again = DiskMeter(str(self.home), self.following, list)
            self.assertEqual(again.measure(LONG_S), first)
        (self.home / "rollback/copy").write_bytes(bytes(100_000))
        self.assertGreater(meter.measure(LONG_S) or 0, (first or 0) + 90_000)


def identity(path: str | Path) -> tuple[int, ...]:
    """What tells contents apart. The time of change also tells of second names that came and went."""
    status = os.lstat(path)
    return status.st_ino, status.st_nlink, status.st_size, status.st_mtime_ns


if __name__ == "__main__":
    unittest.main()
