"""Tests of `_vivarium.jupyter.inject`: modules come from their sources, under one name of ours."""

from __future__ import annotations

import sys
import unittest

from _vivarium.jupyter.inject import COMPANION, inject

SOURCES = {
    "_vivarium": "",
    "_vivarium.jupyter": "",
    COMPANION: (
        "from _vivarium.greeting.words import HELLO\n"
        "seen = {}\n"
        "def start(settings): seen.update(settings, hello=HELLO)\n"
    ),
    "_vivarium.greeting": "",
    "_vivarium.greeting.words": "HELLO = 'hello'\n",
}


def own(names: object) -> set[str]:
    """Return the names of our package among these."""
    return {name for name in names if name.partition(".")[0] == "_vivarium"}  # type: ignore[attr-defined]


class InjectTest(unittest.TestCase):
    """What a program sees before and after injection."""

    def setUp(self) -> None:
        """Remove our package, which a kernel does not have."""
        self._before = dict(sys.modules)
        self._meta_path = list(sys.meta_path)
        for name in own(self._before):
            del sys.modules[name]

    def tearDown(self) -> None:
        """Bring it back."""
        sys.modules.clear()
        sys.modules.update(self._before)

    def test_the_companion_is_loaded_and_started(self) -> None:
        inject(SOURCES, {"environment": {"A": "b"}})
        self.assertEqual(sys.modules[COMPANION].seen, {"environment": {"A": "b"}, "hello": "hello"})

    def test_nothing_but_our_package_is_left(self) -> None:
        inject(SOURCES, {})
        added = set(sys.modules) - set(self._before) | own(sys.modules)
        self.assertEqual(added, set(SOURCES))
        self.assertEqual(sys.meta_path, self._meta_path)

    def test_a_failure_is_raised_and_leaves_no_finder(self) -> None:
        with self.assertRaises(ZeroDivisionError):
            inject({**SOURCES, "_vivarium.greeting.words": "1 / 0"}, {})
        self.assertEqual(sys.meta_path, self._meta_path)


if __name__ == "__main__":
    unittest.main()
