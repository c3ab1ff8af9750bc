"""Tests of `kernel.inject`: modules come from their sources and leave the program's names alone."""

from __future__ import annotations

import sys
import unittest
from types import ModuleType

from kernel.inject import NAME, inject

SOURCES = {
    "kernel": "",
    "kernel.companion": "from greeting.words import HELLO\nseen = {}\ndef start(settings): seen.update(settings, hello=HELLO)\n",
    "greeting": "",
    "greeting.words": "HELLO = 'hello'\n",
}


class InjectTest(unittest.TestCase):
    """What a program sees before and after."""

    def setUp(self) -> None:
        """Remember the modules."""
        self._before = dict(sys.modules)
        self._meta_path = list(sys.meta_path)

    def tearDown(self) -> None:
        """Bring them back."""
        sys.modules.clear()
        sys.modules.update(self._before)

    def test_the_companion_is_loaded_and_started(self) -> None:
        inject(SOURCES, {"environment": {"A": "b"}})
        self.assertEqual(sys.modules[NAME].seen, {"environment": {"A": "b"}, "hello": "hello"})

    def test_nothing_but_one_name_is_left(self) -> None:
        inject(SOURCES, {})
        self.assertEqual(set(sys.modules) - set(self._before), {NAME})
        self.assertEqual(sys.meta_path, self._meta_path)

    def test_modules_of_the_program_with_the_same_names_are_kept(self) -> None:
        theirs = sys.modules["greeting"] = ModuleType("greeting")
        inject(SOURCES, {})
        self.assertIs(sys.modules["greeting"], theirs)
        self.assertEqual(sys.modules[NAME].seen["hello"], "hello")

    def test_a_failure_leaves_nothing(self) -> None:
        with self.assertRaises(ZeroDivisionError):
            inject({**SOURCES, "greeting.words": "1 / 0"}, {})
        self.assertEqual(set(sys.modules) - set(self._before), set())
        self.assertEqual(sys.meta_path, self._meta_path)


if __name__ == "__main__":
    unittest.main()
