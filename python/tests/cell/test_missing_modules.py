"""Tests of what is said about a module that is missing."""

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from _vivarium.cell.missing_modules import missing_note


def note_on(name: str, *, is_offline: bool = True) -> "str | None":
    return missing_note(ModuleNotFoundError(f"No module named {name!r}", name=name), is_offline=is_offline)


class Installed(unittest.TestCase):
    """With two packages of their own: one is imported under another name than it is installed under."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self._add(Path(directory.name), "tablelib", "Table_Lib-1.2.dist-info")
        self._add(Path(directory.name), "plotting", "plotting-3.0.dist-info")
        patch = mock.patch.object(sys, "path", [directory.name])
        patch.start()
        self.addCleanup(patch.stop)

    def _add(self, root: Path, module: str, info: str) -> None:
        (root / module).mkdir()
        (root / module / "__init__.py").write_text("")
        (root / module / "axes.py").write_text("")
        (root / info).mkdir()
        (root / info / "RECORD").write_text(f"{info}/METADATA,,\n{module}/__init__.py,sha256=x,0\n{module}/axes.py,,\n")

    def test_a_package_that_is_not_there_is_said_to_be_unavailable_with_what_there_is(self) -> None:
        self.assertEqual(
            note_on("xgboost"),
            "xgboost is not installed, and nothing can be installed from inside the session. "
            "Use what is there: plotting, table-lib.",
        )

    def test_with_a_network_nothing_is_said_about_installing(self) -> None:
        self.assertEqual(
            note_on("xgboost", is_offline=False), "xgboost is not installed. Use what is there: plotting, table-lib."
        )

    def test_the_name_of_a_package_leads_to_the_name_of_its_module(self) -> None:
        for name in ("table_lib", "Table_Lib", "table_lib.core"):
            self.assertRegex(note_on(name) or "", r"^The package \w+ is imported as tablelib\.$")

    def test_a_typing_error_leads_to_the_module_that_was_meant(self) -> None:
        self.assertEqual(note_on("ploting"), "There is no module ploting. Did you mean plotting?")
        self.assertEqual(note_on("jsn"), "There is no module jsn. Did you mean json?")

    def test_a_package_without_the_module_says_so_with_its_version(self) -> None:
        module = mock.Mock(__version__="3.0", __path__=[str(Path(sys.path[0]) / "plotting")])
        with mock.patch.dict(sys.modules, {"plotting": module}):
            self.assertEqual(
                note_on("plotting.axis"), "plotting 3.0 has no module plotting.axis. Did you mean plotting.axes?"
            )
            self.assertEqual(note_on("plotting.zzz"), "plotting 3.0 has no module plotting.zzz.")

    def test_a_library_may_have_its_own_words_for_it(self) -> None:
        error = ImportError("Install xgboost first")
        error.__cause__ = ModuleNotFoundError("No module named 'xgboost'", name="xgboost")
        self.assertIn("xgboost is not installed", missing_note(error, is_offline=True) or "")

    def test_other_errors_need_no_note(self) -> None:
        self.assertIsNone(missing_note(ValueError("x"), is_offline=True))
        self.assertIsNone(missing_note(ImportError("cannot import name 'x' from 'y'"), is_offline=True))
        self.assertIsNone(missing_note(ModuleNotFoundError("raised by hand"), is_offline=True))
        caught = ValueError("x")
        caught.__context__ = ModuleNotFoundError("No module named 'xgboost'", name="xgboost")
        self.assertIsNone(missing_note(caught, is_offline=True))

    def test_nothing_that_a_program_does_makes_it_fail(self) -> None:
        self.assertIsNone(note_on("x\ny"))
        self.assertIsNone(note_on("x" * 1000))
        loop = ImportError()
        loop.__cause__ = loop
        self.assertIsNone(missing_note(loop, is_offline=True))
        for path in ([1], ["/nowhere", ""], [None]):
            with mock.patch.object(sys, "path", path):
                note_on("xgboost")
        with mock.patch("os.listdir", side_effect=ValueError):
            self.assertIsNone(note_on("xgboost"))

    def test_a_python_without_libraries_says_so(self) -> None:
        with mock.patch.object(sys, "path", []):
            self.assertIn("There are no libraries.", note_on("xgboost") or "")


if __name__ == "__main__":
    unittest.main()
