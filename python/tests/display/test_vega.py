"""Tests of charts of Altair."""

import json
import os
import unittest
from typing import Any

from _vivarium.display.budget import Item
from _vivarium.display.figures import Figures

try:
    import altair as alt
except ImportError:
    alt = None  # type: ignore[assignment]

VALUES = [{"day": "mon", "n": 3}, {"day": "tue", "n": 5}]


@unittest.skipIf(alt is None, "altair is not installed")
class Charts(unittest.TestCase):
    def setUp(self) -> None:
        self.items: list[Item] = []
        self.figures = Figures(self.items.append)
        self.figures.begin_run()

    def _chart(self, **options: object) -> Any:
        return alt.Chart(alt.Data(values=VALUES), **options).mark_bar().encode(x="day:N", y="n:Q")

    def test_a_chart_is_shown_with_its_data_and_as_a_picture(self) -> None:
        threads = len(os.listdir("/proc/self/task"))
        self._chart(title="Sales").show()
        (item,) = self.items
        (mime,) = [mime for mime in item["data"] if mime.endswith("+json")]
        self.assertRegex(mime, r"^application/vnd\.vegalite\.v\d\+json$")
        self.assertEqual(json.loads(item["data"][mime])["data"]["values"], VALUES)
        self.assertTrue(item["data"]["image/png"].startswith(b"\x89PNG"))
        self.assertEqual((item["title"], item["data"]["text/plain"]), ("Sales", "<altair Chart of 2 rows>"))
        self.assertEqual(len(os.listdir("/proc/self/task")), threads, "a thread stays, and would cost the twin")

    def test_the_same_chart_is_shown_once_and_another_one_again(self) -> None:
        chart = self._chart()
        chart.show()
        chart.show()
        (chart | chart).show()
        self.assertEqual([item["picture"] for item in self.items], [1, 2])

    def test_a_chart_that_altair_refuses_says_why(self) -> None:
        alt.Chart("not a table").mark_bar().encode(x="nothing").show()
        self.assertIn("that could not be drawn", self.items[0]["data"]["text/plain"])


if __name__ == "__main__":
    unittest.main()
