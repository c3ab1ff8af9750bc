"""Tests of the shape of the package: which folder may import which, and how many files a folder may have."""

from __future__ import annotations

import ast
import sys
import unittest
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "_vivarium"
LARGEST_FOLDER = 12
# Each folder may import itself and the folders in its row. `channel`, `protocol` and `record` are files of the package itself.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "protocol": (),
    "record": (),
    "values": (),
    "confine": ("record",),
    "changes": ("confine", "record"),
    "inside": (),
    "notebook": ("inside", "values"),
    "cell": ("notebook", "values"),
    "completion": ("values",),
    "ledger": ("values",),
    "display": ("values",),
    "enclosure": ("confine", "record", "protocol", "worker"),
    "threads": ("confine", "record", "values"),
    "worker": (
        *("cell", "changes", "completion", "confine", "display", "inside", "ledger", "notebook", "record", "threads"),
        *("values", "protocol"),
    ),
    "channel": ("values", "protocol"),
    "wheels": ("confine", "protocol", "values"),
    "surveyor": ("changes", "channel", "confine", "record", "values", "protocol"),
    "gate": ("channel", "confine", "protocol", "record", "values"),
    "zygote": (
        *("channel", "confine", "display", "enclosure", "record", "threads"),
        *("values", "protocol", "surveyor", "worker"),
    ),
    "jupyter": ("cell", "completion", "display", "ledger", "values"),
    "payloads": ("notebook",),
}


def part_of(path: Path) -> str:
    """Return the folder of a file, or its name if it is directly in the package."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """Return the full names of all modules that a file imports anywhere."""
    found: set[str] = set()
    package = ["_vivarium", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = [node.module] if node.module else []
            if node.level:
                base = [*package[: len(package) - node.level + 1], *base]
            found |= {".".join([*base, alias.name]) for alias in node.names}
    return found


class LayoutTest(unittest.TestCase):
    """The rules."""

    def setUp(self) -> None:
        """Find all files."""
        self._files = sorted(
            path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem != "__init__"
        )

    def test_every_part_has_a_row(self) -> None:
        self.assertEqual({part_of(path) for path in self._files}, set(MAY_IMPORT))

    def test_imports_go_one_way(self) -> None:
        for path in self._files:
            allowed = {part_of(path), *MAY_IMPORT[part_of(path)]}
            for name in imports_of(path):
                head, *rest = name.split(".")
                if head == "_vivarium" and rest:
                    with self.subTest(file=str(path.relative_to(PACKAGE)), imports=name):
                        self.assertIn(rest[0], allowed)

    def test_the_table_has_no_cycle(self) -> None:
        settled: set[str] = set()
        while len(settled) < len(MAY_IMPORT):
            ready = {part for part, others in MAY_IMPORT.items() if part not in settled and settled.issuperset(others)}
            self.assertTrue(ready, f"a cycle among {set(MAY_IMPORT) - settled}")
            settled |= ready

    def test_files_import_nothing_but_the_standard_library_and_each_other(self) -> None:
        for path in self._files:
            others = {name.partition(".")[0] for name in imports_of(path)} - {"_vivarium", *sys.stdlib_module_names}
            # The companion runs inside IPython.
            expected = {"IPython"} if path.parent.name == "jupyter" else set()
            with self.subTest(file=str(path.relative_to(PACKAGE))):
                self.assertLessEqual(others, expected)

    def test_folders_are_small(self) -> None:
        folders = [PACKAGE, *(path for path in PACKAGE.rglob("*") if path.is_dir() and path.name != "__pycache__")]
        for folder in folders:
            files = [path.name for path in folder.iterdir() if path.is_file()]
            with self.subTest(folder=str(folder.relative_to(PACKAGE.parent))):
                self.assertLessEqual(len(files), LARGEST_FOLDER, files)

    def test_nothing_but_the_package_can_be_imported_from_the_folder_that_is_installed(self) -> None:
        names = {path.name for path in PACKAGE.parent.iterdir()} - {"__pycache__"}
        self.assertEqual(names, {"_vivarium", "locks", "tests"})


if __name__ == "__main__":
    unittest.main()
