"""What JSON costs the host, and that what we send keeps below its bound."""

from __future__ import annotations

import datetime
import json
import unittest

from _vivarium.values.cost import MAX_COST, cost_of
from _vivarium.values.encode import message_value


class CostTest(unittest.TestCase):
    """The same numbers as in src/engine/hostile-json.ts."""

    def test_commas_strings_and_brackets_cost_one_and_keys_two_more(self) -> None:
        for text, cost in {"0": 0, "[]": 1, "[1,2]": 2, '"a"': 1, '{"a":1}': 4, '[{},["x",null]]': 6}.items():
            with self.subTest(text):
                self.assertEqual(cost_of(text), cost)

    def test_marks_within_strings_cost_nothing_where_it_matters(self) -> None:
        self.assertEqual(cost_of(json.dumps(['[{:,"\\' * MAX_COST])), 2)
        self.assertEqual(cost_of(json.dumps(["it's", "a" * 10]) + " " * 10), 4)

    def test_a_value_of_many_parts_is_cut_to_what_the_host_takes(self) -> None:
        moment = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
        for value in ([moment] * 30_000, {str(key): [key] for key in range(30_000)}, [{"a": [0]}] * 30_000):
            text = message_value(value)
            self.assertLessEqual(cost_of(text), MAX_COST)
            self.assertEqual(json.loads(text)["_type"], "truncated")

    def test_a_value_that_is_not_too_large_is_whole(self) -> None:
        self.assertEqual(json.loads(message_value(list(range(19_000)))), list(range(19_000)))


if __name__ == "__main__":
    unittest.main()
