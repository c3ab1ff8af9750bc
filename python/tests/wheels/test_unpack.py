"""Tests of what is left of a wheel when it is unpacked, and of wheels that want to be more than a package."""

from __future__ import annotations

import os
import stat
import tempfile
import unittest
import zipfile
from pathlib import Path

from _vivarium.wheels import unpack as unpacking
from _vivarium.wheels.unpack import NotAWheel, unpack


class Unpacking(unittest.TestCase):
    """Each wheel is unpacked into a directory whose surroundings must stay as they are."""

    def setUp(self) -> None:
        """Make a directory with a file that nothing may touch."""
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self._directory = Path(temporary.name)
        (self._directory / "precious").write_text("as it was")

    def _unpack(self, files: dict[str, str], modes: dict[str, int] | None = None) -> dict:
        path = self._directory / "a.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in {**files, "demo-1.0.dist-info/METADATA": "Name: demo\n"}.items():
                info = zipfile.ZipInfo(name)
                info.filename = info.orig_filename = name
                info.external_attr = ((modes or {}).get(name, 0o100644)) << 16
                archive.writestr(info, content)
        try:
            return unpack(str(path), str(self._directory / "target"), "Demo")
        finally:
            self.assertEqual((self._directory / "precious").read_text(), "as it was")
            self.assertLessEqual(set(os.listdir(self._directory)), {"a.whl", "precious", "target"})

    def _refuses(self, words: str, files: dict[str, str], modes: dict[str, int] | None = None) -> None:
        with self.assertRaisesRegex(NotAWheel, words):
            self._unpack(files, modes)

    def test_files_and_commands(self) -> None:
        entry = "[console_scripts]\ndemo = demo.cli:main\n../evil = demo:x\nbad = demo; import os\n"
        facts = self._unpack(
            {
                "demo/__init__.py": "x = 1",
                "demo-1.0.data/purelib/more/deep.py": "",
                "demo-1.0.data/platlib/native.so": "",
                "demo-1.0.dist-info/entry_points.txt": entry,
            },
            {"demo-1.0.data/platlib/native.so": 0o100755},
        )
        self.assertEqual(facts["scripts"], {"demo": "demo.cli:main"})
        self.assertEqual(facts["version"], "1.0")
        self.assertEqual(facts["dropped"], [])
        target = self._directory / "target"
        self.assertEqual((target / "demo/__init__.py").read_text(), "x = 1")
        self.assertEqual(stat.S_IMODE((target / "demo/__init__.py").stat().st_mode), 0o444)
        self.assertEqual(stat.S_IMODE((target / "native.so").stat().st_mode), 0o555)
        self.assertTrue((target / "more/deep.py").exists())

    def test_what_reaches_beyond_a_package_is_left_out(self) -> None:
        outside = (
            *("evil.pth", "sitecustomize.py", "usercustomize/__init__.py", "json.py", "os/__init__.py"),
            *("_vivarium/worker.py", "demo-1.0.data/scripts/ls", "demo-1.0.data/data/etc/passwd"),
            *("demo-1.0.data/headers/x.h", "demo-1.0.data/purelib/evil.pth", "demo-1.0.data/purelib/site.py"),
        )
        facts = self._unpack({**dict.fromkeys(outside, "import os"), "demo.py": ""})
        self.assertEqual(facts["dropped"], sorted(outside))
        self.assertEqual(facts["files"], ["demo.py", "demo-1.0.dist-info/METADATA"])

    def test_paths_that_lead_outside_are_refused(self) -> None:
        names = (
            *("../precious", "demo/../../precious", "/etc/passwd", "demo/./x", "demo//x", "..", "demo\\..\\x"),
            *("C:x", "demo/\x00x", "demo/new\nline", "a/" * 50 + "x", "x" * 300),
            *("demo-1.0.data/purelib/../../../precious", "demo-1.0.data/purelib//etc/passwd"),
        )
        for name in names:
            with self.subTest(name=name):
                self._refuses("leads outside|not a plain", {name: "evil"})

    def test_what_is_not_a_plain_file_is_refused(self) -> None:
        for kind in (stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK):
            with self.subTest(kind=kind):
                self._refuses("a link or a special file", {"demo/x": "/etc/passwd"}, {"demo/x": kind | 0o777})

    def test_a_wheel_of_another_package_is_refused(self) -> None:
        self._refuses("one .dist-info", {"other-1.0.dist-info/METADATA": ""})
        with self.assertRaisesRegex(NotAWheel, "describes itself as 'demo'"):
            self._unpack({})
            unpack(str(self._directory / "a.whl"), str(self._directory / "target2"), "other")

    def test_the_same_place_twice_is_refused(self) -> None:
        self._refuses("it has .* twice", {"demo.py": "1"} | {"demo-1.0.data/purelib/demo.py": "2"})

    def test_too_much_is_refused(self) -> None:
        original = unpacking.MAX_FILES, unpacking.MAX_BYTES
        try:
            unpacking.MAX_FILES, unpacking.MAX_BYTES = 3, 1000
            self._refuses("more than 3 files", {f"demo{n}.py": "" for n in range(4)})
            self._refuses("more than 1000 bytes", {"demo.py": "x" * 1001})
        finally:
            unpacking.MAX_FILES, unpacking.MAX_BYTES = original
