"""Tests of the data that notebooks and programs read by dots."""

import copy
import json
import os
import pickle
import tempfile
import unittest

from cell.context import LISTED_NAMES, Context, load_context

DATA = {"WEATHER": {"today": {"degrees": 20, "hours": [{"at": 8}], "to_dict": 1}, "to morrow": {"degrees": 22}}}


class Reading(unittest.TestCase):
    def setUp(self) -> None:
        self.context = Context(DATA)

    def test_by_dots_and_by_items(self) -> None:
        self.assertEqual(self.context.WEATHER.today.degrees, 20)
        self.assertEqual(self.context["WEATHER"]["to morrow"].degrees, 22)
        self.assertEqual(self.context.WEATHER.today.hours[0].at, 8)
        self.assertEqual(self.context.WEATHER.today["to_dict"], 1)

    def test_as_a_collection(self) -> None:
        self.assertEqual(list(self.context.WEATHER), ["today", "to morrow"])
        self.assertEqual(len(self.context.WEATHER), 2)
        self.assertIn("today", self.context.WEATHER)
        self.assertEqual(self.context.WEATHER["to morrow"], {"degrees": 22})
        self.assertEqual(dir(self.context.WEATHER), ["to_dict", "today"])

    def test_a_missing_name_says_what_there_is(self) -> None:
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

    def test_copies(self) -> None:
        context = Context(DATA).WEATHER
        self.assertEqual(copy.deepcopy(context), context)
        self.assertEqual(pickle.loads(pickle.dumps(context)), context)


class Loading(unittest.TestCase):
    def test_from_a_file(self) -> None:
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
