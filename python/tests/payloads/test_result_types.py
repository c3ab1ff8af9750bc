"""Tests of `result_types`: it reports the real types in `results`, whatever classes claim."""

import json
import unittest
from collections import OrderedDict
from typing import Any

from _vivarium.payloads.result_types import LOOKED_AT, MOST_KINDS, MOST_LISTED, result_types


def types_of(results: object, *names: str) -> Any:
    """Return the parsed answer."""
    return json.loads(result_types(results, list(names)))


def names_of(kinds: list[Any]) -> list[str]:
    """Return the bare names of some types."""
    return [kind["type"] for kind in kinds]


class ResultTypesTest(unittest.TestCase):
    def test_only_requested_names_are_reported(self) -> None:
        answer = types_of({"a": 1, "b": "x"}, "a", "missing")
        self.assertEqual(answer["results"]["mro"], ["builtins.dict", "builtins.object"])
        self.assertEqual(
            answer["names"], {"a": {"type": "int", "module": "builtins", "mro": ["builtins.int", "builtins.object"]}}
        )

    def test_a_subclass_is_reported_with_its_bases(self) -> None:
        kind = types_of({"a": OrderedDict(x=True)}, "a")["names"]["a"]
        self.assertEqual((kind["type"], kind["module"]), ("OrderedDict", "collections"))
        self.assertIn("builtins.dict", kind["mro"])
        self.assertEqual((names_of(kind["keys"]), names_of(kind["items"])), (["str"], ["bool"]))

    def test_each_type_of_items_is_reported_once(self) -> None:
        kind = types_of({"a": [1, 2, 1.5, "x", 3, [1], [2], ["y"]]}, "a")["names"]["a"]
        self.assertEqual(names_of(kind["items"]), ["int", "float", "str", "list", "list"])
        self.assertEqual([names_of(item["items"]) for item in kind["items"][3:]], [["int"], ["str"]])

    def test_anything_but_a_dictionary_is_named(self) -> None:
        for value, name in ((None, "NoneType"), ([1], "list"), (5, "int")):
            answer = types_of(value, "a")
            self.assertEqual((answer["results"]["type"], answer["names"]), (name, {}))

    def test_the_real_types_of_lying_classes_are_found(self) -> None:
        class Liar:
            __class__ = dict  # type: ignore[assignment]

            def __getattribute__(self, name: str) -> Any:
                raise SystemExit

        class Meta(type):
            @property
            def __name__(cls) -> str:  # type: ignore[override]
                raise SystemExit

            def __eq__(cls, other: object) -> bool:
                raise SystemExit

            def __hash__(cls) -> int:
                raise SystemExit

        class Strange(metaclass=Meta):
            pass

        class Sly(list):  # type: ignore[type-arg]
            def __iter__(self) -> Any:
                raise SystemExit

        self.assertEqual(types_of(Liar(), "a")["results"]["type"], "Liar")
        answer = types_of({"a": Liar(), "b": Strange(), "c": Sly([1]), "d": [Strange()]}, "a", "b", "c", "d")["names"]
        self.assertEqual([answer[name]["type"] for name in "abcd"], ["Liar", "Strange", "Sly", "list"])
        self.assertEqual(names_of(answer["c"]["items"]), ["int"])

    def test_a_module_name_that_is_not_text_is_unknown(self) -> None:
        odd = type("Odd", (), {"__module__": 5})
        self.assertEqual(types_of({"a": odd()}, "a")["names"]["a"]["module"], "unknown")

    def test_the_answer_stays_small(self) -> None:
        many = {str(number): type(f"T{number}" + "x" * 5000, (), {})() for number in range(3 * MOST_KINDS)}
        nested = [[[[{"a": index}] for index in range(50)] for _ in range(50)] for _ in range(50)]
        text = result_types(
            {"many": list(many.values()), "nested": nested, "long": [1] * 1_000_000}, ["many", "nested", "long"]
        )
        self.assertLess(len(text), 500_000)
        self.assertLessEqual(len(json.loads(text)["names"]["many"]["items"]), MOST_LISTED)

    def test_values_that_hold_themselves_end(self) -> None:
        knot: list[Any] = []
        knot.append(knot)
        self.assertEqual(types_of({"a": knot}, "a")["names"]["a"]["type"], "list")

    def test_only_the_first_items_are_examined(self) -> None:
        kind = types_of({"a": [1] * LOOKED_AT + ["x"]}, "a")["names"]["a"]
        self.assertEqual(names_of(kind["items"]), ["int"])


if __name__ == "__main__":
    unittest.main()
