"""Tests of what code is completed with."""

from __future__ import annotations

import sys
import types
import unittest
from collections import OrderedDict
from typing import Any

from _vivarium.completion.complete import MATCHES_LIMIT, complete

RAN: list[str] = []


class Trap:
    """Code of a program that must not run: every method says that it did."""

    plain = 1

    def __init__(self) -> None:
        self.own = {"inner": 1}

    @property
    def costly(self) -> dict[str, int]:
        RAN.append("property")
        return {"found": 1}

    def __getattr__(self, name: str) -> Any:
        RAN.append(f"__getattr__ {name}")
        return {}

    def __getattribute__(self, name: str) -> Any:
        RAN.append(f"__getattribute__ {name}")
        return object.__getattribute__(self, name)

    def __dir__(self) -> list[str]:
        RAN.append("__dir__")
        return ["made_up"]

    def __repr__(self) -> str:
        RAN.append("__repr__")
        return "trap"

    def __getitem__(self, key: str) -> Any:
        RAN.append("__getitem__")
        return {}

    def keys(self) -> list[str]:
        RAN.append("keys")
        return ["key"]


class CompletionTest(unittest.TestCase):
    """What is found in a namespace."""

    def setUp(self) -> None:
        """Fill a namespace."""
        RAN.clear()
        self._names: dict[str, object] = {"price": 1, "prices": [1], "_hidden": 2, "table": {"north": 1, "south": 2}}

    def _matches(self, text: str) -> list[str]:
        found: Any = complete(self._names, text)
        self.assertTrue(text.endswith(found["prefix"]))
        return found["matches"]

    def test_names_of_the_session_of_python_and_keywords(self) -> None:
        self.assertEqual(self._matches("pri"), ["price", "prices", "print"])
        self.assertEqual(self._matches("x = [sum(pric"), ["price", "prices"])
        self.assertEqual(self._matches("whi"), ["while"])
        self.assertEqual(self._matches("1 + _h"), ["_hidden"])
        self.assertEqual(self._matches("print("), ["price", "prices", "table"])

    def test_numbers_comments_and_texts_are_not_completed(self) -> None:
        for text in ("1", "12.", "0x", "# pri", "x = 1  # pri", "'pri", '"""pri', "f'{pri", "'it\\'s pri", "'a' 'pri"):
            with self.subTest(text=text):
                self.assertEqual(self._matches(text), [])
        self.assertEqual(self._matches("'text' + pric"), ["price", "prices"])
        self.assertEqual(self._matches('"""\n# text\n""" + pric'), ["price", "prices"])
        self.assertEqual(self._matches("# it's\npric"), ["price", "prices"])

    def test_attributes_of_live_objects(self) -> None:
        self.assertEqual(self._matches("prices.ap"), ["append"])
        self.assertEqual(self._matches("y = str.isd"), ["isdecimal", "isdigit"])
        self.assertIn("real", self._matches("price."))
        self.assertEqual([name for name in self._matches("price.") if name.startswith("_")], [])
        self.assertIn("__add__", self._matches("price.__"))

    def test_members_of_modules_and_of_what_they_hold(self) -> None:
        self._names["sys"] = sys
        self.assertEqual(self._matches("sys.stdlib_m"), ["stdlib_module_names"])
        self.assertEqual(self._matches("sys.modules.po"), ["pop", "popitem"])
        lazy = types.ModuleType("lazy")
        lazy.__dict__["__all__"] = ["later", 5]
        self._names["lazy"] = lazy
        self.assertEqual(self._matches("lazy.la"), ["later"])

    def test_the_result_of_a_call_is_not_guessed(self) -> None:
        for text in ("str().up", "prices[0].re", "'text'.up", "unknown.a", "price.real.x.y", "f(prices).ap"):
            with self.subTest(text=text):
                self.assertEqual(self._matches(text), [])

    def test_keys_of_dictionaries(self) -> None:
        self.assertEqual(self._matches('table["no'), ['north"]'])
        self.assertEqual(self._matches("print(table['"), ["north']", "south']"])
        self.assertEqual(self._matches("table["), ['"north"]', '"south"]'])
        self._names["box"] = types.SimpleNamespace(ordered=OrderedDict({3: "a", "k": "b", "it's": "c", "a\x1bb": "d"}))
        self.assertEqual(self._matches("box.ordered["), ['"k"]', "3]"])
        self.assertEqual(self._matches("prices["), ["box", "price", "prices", "table"])  # an index may be a variable

    def test_no_code_of_the_program_runs(self) -> None:
        self._names |= {"trap": Trap(), "Trap": Trap}
        RAN.clear()
        self.assertEqual(self._matches("trap.o"), ["own"])
        self.assertEqual(self._matches("trap.co"), ["costly"])
        self.assertEqual(self._matches("trap.own.it"), ["items"])
        self.assertEqual(self._matches("Trap.pl"), ["plain"])
        for text in ("trap.costly.", "trap.missing.", "trap['", "trap[", "trap.made"):
            found = self._matches(text)
            self.assertNotIn("made_up", found)
        self.assertEqual(RAN, [])

    def test_a_class_that_hides_its_dictionary_keeps_it_hidden(self) -> None:
        class Hiding:
            visible = 1

            @property
            def __dict__(self) -> dict[str, int]:  # type: ignore[override]
                RAN.append("__dict__")
                return {"hidden": 1}

        class Meta(type):
            def __getattribute__(cls, name: str) -> Any:
                RAN.append(f"meta {name}")
                return super().__getattribute__(name)

        class Made(metaclass=Meta):
            here = 1

        self._names |= {"hiding": Hiding(), "Made": Made, "made": Made()}
        RAN.clear()
        self.assertEqual(self._matches("hiding.vi"), ["visible"])
        self.assertEqual(self._matches("hiding.hi"), [])
        self.assertEqual(self._matches("Made.he") + self._matches("made.he"), ["here", "here"])
        self.assertEqual(RAN, [])

    def test_slots_are_followed(self) -> None:
        class Slotted:
            __slots__ = ("empty", "full")

        slotted = Slotted()
        slotted.full = "text"
        self._names["slotted"] = slotted
        self.assertEqual(self._matches("slotted.full.isal"), ["isalnum", "isalpha"])
        self.assertEqual(self._matches("slotted.empty."), [])

    def test_modules_that_can_be_imported(self) -> None:
        before = set(sys.modules)
        self.assertIn("colorsys", self._matches("import colo"))
        self.assertIn("colorsys", self._matches("import os, colo"))
        self.assertIn("colorsys", self._matches("x = 1; from colo"))
        self.assertIn("tool", self._matches("import json.t"))
        self.assertIn("path", self._matches("from os import getcwd, pa"))
        self.assertEqual(self._matches("from . import a"), [])
        self.assertEqual(set(sys.modules) - before, set())

    def test_wrong_names_and_many_names_do_no_harm(self) -> None:
        self._names |= {"not a name": 1, "a\x1b[31m": 1, 5: 1}  # type: ignore[dict-item]
        self.assertEqual(self._matches("not"), ["not"])
        self._names |= {f"many_{number}": 1 for number in range(2000)}
        self.assertEqual(len(self._matches("many_")), MATCHES_LIMIT)
        self.assertEqual(self._matches("a" * 20_000), [])

    def test_what_was_there_before_the_program_is_left_out(self) -> None:
        self.assertEqual(complete({"In": 1, "In_new": 2}, "f(", {"In": 1})["matches"], ["In_new"])


if __name__ == "__main__":
    unittest.main()
