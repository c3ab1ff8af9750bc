"""Tests of the context: data that notebooks and programs read by dots."""

import copy
import json
import os
import pickle
import tempfile
import unittest
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from uuid import UUID
from zoneinfo import ZoneInfo

from _vivarium.payloads.context import LISTED_NAMES, Context, load_context
from _vivarium.values.encode import encode_value

DATA = {"WEATHER": {"today": {"degrees": 20, "hours": [{"at": 8}], "to_dict": 1}, "to morrow": {"degrees": 22}}}


class Reading(unittest.TestCase):
    def setUp(self) -> None:
        self.context = Context(DATA)

    def test_values_are_read_by_dots_and_by_items(self) -> None:
        self.assertEqual(self.context.WEATHER.today.degrees, 20)
        self.assertEqual(self.context["WEATHER"]["to morrow"].degrees, 22)
        self.assertEqual(self.context.WEATHER.today.hours[0].at, 8)
        self.assertEqual(self.context.WEATHER.today["to_dict"], 1)

    def test_a_context_is_a_collection(self) -> None:
        self.assertEqual(list(self.context.WEATHER), ["today", "to morrow"])
        self.assertEqual(len(self.context.WEATHER), 2)
        self.assertIn("today", self.context.WEATHER)
        self.assertEqual(self.context.WEATHER["to morrow"], {"degrees": 22})
        self.assertEqual(dir(self.context.WEATHER), ["get", "items", "keys", "to_dict", "today", "values"])

    def test_a_missing_name_lists_those_that_exist(self) -> None:
        with self.assertRaisesRegex(AttributeError, r"^context.WEATHER has no 'yesterday'; it has: today, to morrow$"):
            self.context.WEATHER.yesterday  # noqa: B018
        with self.assertRaisesRegex(KeyError, r"context.WEATHER\['to morrow'\] has no 'x'; it has: degrees"):
            self.context.WEATHER["to morrow"]["x"]
        with self.assertRaisesRegex(AttributeError, "it has: nothing"):
            Context({}).x  # noqa: B018
        self.assertFalse(hasattr(self.context, "_repr_html_"))

    def test_a_long_list_of_names_is_cut(self) -> None:
        many = Context({f"n{number}": 1 for number in range(LISTED_NAMES + 5)})
        self.assertRegex(repr(many), rf"^<context: n0, .* n{LISTED_NAMES - 1} and 5 more>$")


class LikeADictionary(unittest.TestCase):
    def test_methods_of_dictionaries_work(self) -> None:
        weather = Context(DATA).WEATHER
        self.assertEqual(weather.keys(), ["today", "to morrow"])
        self.assertEqual([degrees.degrees for degrees in weather.values()], [20, 22])
        self.assertEqual([name for name, _ in weather.items()], ["today", "to morrow"])
        self.assertEqual([weather.get("today").degrees, weather.get("x"), weather.get("x", 1)], [20, None, 1])
        self.assertEqual(dict(weather)["to morrow"], {"degrees": 22})

    def test_members_come_first(self) -> None:
        context = Context({"values": [1], "keys": 2, "get": 3, "items": {"x": 4}})
        self.assertEqual([context.values, context.keys, context.get, context.items.x], [[1], 2, 3, 4])


class Tagged(unittest.TestCase):
    """Values that JSON cannot hold, in the forms of docs/values.md."""

    VALUES = (
        1 << 80,
        -(1 << 3000),
        float("inf"),
        complex(1, -2),
        b"\x00\xff",
        bytearray(b"x"),
        {1, 2, 3},
        {(1, (2, 3))},
        frozenset("a"),
        {1: {2: "b"}, (1, 2): [float("-inf")]},
        {"_type": "float", "value": "NaN"},
        range(0, 9, 2),
        datetime(2024, 7, 1, 12, tzinfo=timezone.utc),
        datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("Europe/Berlin")),
        date(2024, 7, 1),
        time(12, 30),
        -timedelta(days=1, hours=2, seconds=3.5),
        Decimal("1.10"),
        Fraction(1, 3),
        UUID(int=7),
    )

    def test_tagged_values_are_rebuilt(self) -> None:
        for value in self.VALUES:
            with self.subTest(value=value):
                encoded = json.loads(encode_value({"m": value, "list": [value]}))
                context = Context(encoded)
                self.assertEqual((context.m, type(context.m)), (value, type(value)))
                self.assertEqual(context.to_dict(), {"m": value, "list": [value]})

    def test_not_a_number_is_rebuilt(self) -> None:
        made = Context(json.loads(encode_value({"m": float("nan")}))).m
        self.assertTrue(isinstance(made, float) and made != made)

    def test_what_only_looks_like_a_tag_stays_as_it_is(self) -> None:
        for value in (
            {"_type": "float", "value": "1.5 m"},
            {"_type": "int", "value": "5", "unit": "m"},
            {"_type": "beam", "x": 1},
            {"_type": "set"},
            {"_type": 7},
        ):
            with self.subTest(value=value):
                context = Context({"m": value})
                self.assertIsInstance(context.m, Context)
                self.assertEqual(context.m["_type"], value["_type"])
                self.assertEqual(context.to_dict(), {"m": value})


class Changing(unittest.TestCase):
    def test_it_cannot_be_changed(self) -> None:
        context = Context(DATA)
        with self.assertRaisesRegex(AttributeError, r"context.WEATHER cannot be changed; context.WEATHER.to_dict\(\)"):
            context.WEATHER.today = 1
        with self.assertRaisesRegex(AttributeError, "cannot be changed"):
            del context.WEATHER

    def test_a_dictionary_of_it_is_a_copy(self) -> None:
        context = Context(DATA)
        context.to_dict()["WEATHER"]["today"]["hours"].append(1)
        context.WEATHER.today.hours.append(1)
        self.assertEqual(len(context.WEATHER.today.hours), 1)

    def test_copies_can_be_changed(self) -> None:
        context = Context(DATA).WEATHER
        self.assertEqual(copy.deepcopy(context), context)
        self.assertEqual(pickle.loads(pickle.dumps(context)), context)


class Loading(unittest.TestCase):
    def test_a_context_is_loaded_from_a_file(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "context.json")
            for value in (DATA, []):
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(value, file)
                if value:
                    self.assertEqual(load_context(path).to_dict(), DATA)
                else:
                    with self.assertRaisesRegex(ValueError, "holds list, not a JSON object"):
                        load_context(path)
