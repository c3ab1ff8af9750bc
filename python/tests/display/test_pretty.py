"""Tests of values as text: they are those that IPython gives, and hostile ones do no harm."""

import re
import unittest
from collections import Counter, OrderedDict, defaultdict, deque
from types import SimpleNamespace

from _vivarium.display.pretty.printers import pretty_text

LIMIT = 20_000


def text(value: object) -> str:
    return pretty_text(value, LIMIT)


class Bare:
    pass


class Lines:
    def __repr__(self) -> str:
        return "first\nsecond"


class Own:
    def _repr_pretty_(self, printer, is_cycle: bool) -> None:
        with printer.group(4, "Own(", ")"):
            printer.text("1,")
            printer.breakable()
            printer.pretty(["x" * 40, "y" * 40])


class Texts(unittest.TestCase):
    def test_what_fits_into_a_line_is_its_repr(self) -> None:
        for value in ([1, (2,), {"a": {3}}], (), {}, [], "text", 1.5, None, b"x", range(3)):
            self.assertEqual(text(value), repr(value))

    def test_a_long_container_has_a_line_for_each_item(self) -> None:
        self.assertEqual(text(["a" * 40, "b" * 40]), f"['{'a' * 40}',\n '{'b' * 40}']")
        inner = list(range(8))
        self.assertEqual(text({"k": inner, "l": [inner] * 2}), f"{{'k': {inner},\n 'l': [{inner}, {inner}]}}")
        self.assertEqual(text(list(range(2000))).splitlines()[-2:], [" 999,", " ...]"])

    def test_classes_functions_and_plain_objects_have_short_names(self) -> None:
        def f(a: int, b: int = 2) -> None: ...

        found = text([int, Bare, f, len]).replace(__name__, "here")
        self.assertTrue(found.startswith("[int,\n here.Bare,\n <function here."), found)
        self.assertIn("(a: int, b: int = 2) -> None>", found)
        self.assertRegex(text(Bare()).replace(__name__, "here"), r"^<here\.Bare at 0x[\da-f]+>$")

    def test_containers_of_the_library_are_written_as_calls(self) -> None:
        self.assertEqual(text(defaultdict(int, a=1)), "defaultdict(int, {'a': 1})")
        self.assertEqual(text(OrderedDict(a=1)), "OrderedDict([('a', 1)])")
        self.assertEqual(text(Counter("hello")), "Counter({'l': 2, 'h': 1, 'e': 1, 'o': 1})")
        self.assertEqual(text(deque([1], maxlen=2)), "deque([1], maxlen=2)")
        self.assertEqual(text(SimpleNamespace(a=1)), "namespace(a=1)")
        self.assertEqual(text(re.compile("a\\d", re.I)), "re.compile(r'a\\d', re.IGNORECASE|re.UNICODE)")

    def test_lines_of_an_item_keep_its_indentation(self) -> None:
        self.assertEqual(text([Lines(), 1]), "[first\n second,\n 1]")

    def test_a_value_can_write_itself(self) -> None:
        self.assertEqual(text(Own()), f"Own(1,\n    ['{'x' * 40}',\n     '{'y' * 40}'])")

    def test_a_value_within_itself_is_not_repeated(self) -> None:
        loop: list = [1]
        loop.append(loop)
        self.assertEqual(text(loop), "[1, [...]]")


class Hostile(unittest.TestCase):
    def test_a_text_that_is_too_long_is_cut(self) -> None:
        self.assertLessEqual(len(pretty_text([["x" * 90] * 900] * 900, LIMIT)), LIMIT)

    def test_what_raises_is_told(self) -> None:
        class Broken:
            def __repr__(self) -> str:
                raise SystemExit

        self.assertIn("raised SystemExit", text(Broken()))
        self.assertIn("raised SystemExit", text([Broken()]))

    def test_deep_nesting_is_survived(self) -> None:
        deep: list = []
        for _ in range(100_000):
            deep = [deep]
        self.assertIn("RecursionError", text(deep))
        while deep:  # freeing it at once would be as deep
            deep = deep.pop()

    def test_an_interrupt_passes(self) -> None:
        class Interrupted:
            def __repr__(self) -> str:
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            text([Interrupted()])


if __name__ == "__main__":
    unittest.main()
