"""Tests of the bounds of what a run shows."""

import unittest
from unittest import mock

from _vivarium.display import budget, figures
from _vivarium.display.budget import Budget, size_of
from _vivarium.values import cost


def shown(text: str = "x", kind: str = "display", chart: object = None, **forms: "str | bytes") -> dict:
    """An item with forms such as `html`."""
    data = {"text/plain": text, **{f"text/{name}": form for name, form in forms.items()}}
    return {"data": data, "kind": kind, "chart": chart, "title": None, "picture": None, "leftOut": 0}


class Bounds(unittest.TestCase):
    def setUp(self) -> None:
        self.budget = Budget()

    def admit_all(self, *items: dict) -> list:
        return [self.budget.admit(item) for item in items]

    def test_what_fits_passes_unchanged_and_is_not_reported(self) -> None:
        items = [shown(), shown(html="y"), shown(kind="result")]
        self.assertEqual(self.admit_all(*items), items)
        self.assertIsNone(self.budget.report())

    def test_a_form_counts_as_the_host_keeps_it(self) -> None:
        self.assertEqual(size_of(shown("x", html="é", png=b"1234")), 1 + 2 + 8)
        self.assertEqual(size_of(shown("x", chart={"a": 1})), 1 + 8)

    def test_the_first_and_the_last_are_kept(self) -> None:
        with mock.patch.multiple(budget, MAX_RESULTS=5, LAST=2):
            got = self.admit_all(*(shown(str(number)) for number in range(10)))
            self.assertEqual(
                [item and item["data"]["text/plain"] for item in got], ["0", "1", "2", "3", "4"] + [None] * 5
            )
            self.assertEqual([one["data"]["text/plain"] for one in self.budget.take_last()], ["8", "9"])
        report = {"total": 10, "kept": 7, "reduced": 0, "totalBytes": 10, "keptBytes": 7}
        self.assertEqual(self.budget.report(), report)
        self.assertEqual((self.budget.take_last(), self.budget.omitted), ([], 3))

    def test_the_largest_forms_go_first_and_the_text_says_so(self) -> None:
        with mock.patch.multiple(budget, LARGEST=1_000):
            item = self.budget.admit(shown("here", html="h" * 900, latex="l" * 200, markdown="m"))
        self.assertEqual(set(item["data"]), {"text/plain", "text/latex", "text/markdown"})
        self.assertEqual(item["data"]["text/plain"], "here\n(text/html of 900 bytes left out: this run shows too much)")
        self.assertEqual(self.budget.report()["reduced"], 1)
        self.assertEqual(self.budget.report()["totalBytes"], 4 + 900 + 200 + 1)

    def test_a_chart_that_does_not_fit_keeps_its_type_and_title(self) -> None:
        chart = {"type": "line", "title": "T", "series": [[1, 2]] * 1_000}
        with mock.patch.multiple(budget, LARGEST=1_000):
            item = self.budget.admit(shown(html="h", chart=chart))
        self.assertEqual(
            item["chart"], {"type": "line", "title": "T", "omitted": {"bytes": size_of(shown("", chart=chart))}}
        )
        self.assertEqual(item["data"]["text/html"], "h")

    def test_charts_above_what_the_host_keeps_have_no_data(self) -> None:
        chart = {"type": "line", "title": None, "series": [[0] * 1_000]}
        with mock.patch.multiple(budget, MAX_COST=2_500):
            bounds = Budget()
            sent = [bounds.admit(shown(chart=chart)) for _ in range(3)]
        self.assertEqual([one is not None and "series" in one["chart"] for one in sent], [True, True, False])
        report = bounds.report()
        assert report is not None
        self.assertEqual((report["kept"], report["reduced"]), (3, 1))

    def test_texts_have_room_of_their_own_when_other_forms_do_not_fit_any_more(self) -> None:
        with mock.patch.multiple(budget, MAX_BYTES=2_000, TEXT_BYTES=1_000, LAST_BYTES=1_000):
            got = self.admit_all(*(shown(str(number), html="h" * 400) for number in range(30)))
        kept = [one for one in got if one]
        self.assertEqual(sum("text/html" in one["data"] for one in kept), 2)
        self.assertLess(sum(map(size_of, kept)), 2_000)
        self.assertLess(len(kept), 30)
        self.assertIn("text/html", self.budget.take_last()[-1]["data"])

    def test_the_last_ones_are_bounded_in_bytes(self) -> None:
        with mock.patch.multiple(budget, MAX_RESULTS=0, LAST_BYTES=1_000):
            self.admit_all(*(shown("t", html="h" * 400) for _ in range(9)), shown("large", html="h" * 4_000))
        last = self.budget.take_last()
        self.assertLess(sum(map(size_of, last)), 1_000)
        self.assertEqual([sorted(one["data"]) for one in last][-1], ["text/plain"])

    def test_an_echoed_value_always_has_room(self) -> None:
        with mock.patch.multiple(budget, MAX_RESULTS=1, MAX_BYTES=10, TEXT_BYTES=5):
            self.admit_all(shown(), shown())
            self.assertEqual(self.budget.admit(shown("v", "result", html="h" * 100))["data"]["text/html"], "h" * 100)

    def test_clearing_gives_everything_back(self) -> None:
        with mock.patch.multiple(budget, MAX_RESULTS=1):
            self.admit_all(shown(), shown(), shown())
            self.budget.clear()
            self.assertIsNone(self.budget.report())
            self.assertIsNotNone(self.budget.admit(shown()))
            self.assertEqual(self.budget.take_last(), [])

    def test_an_honest_run_stays_below_the_bounds_of_the_host(self) -> None:
        tables, value = 20 * 500_000, 1_000_000
        most = budget.MAX_BYTES + budget.LAST_BYTES + budget.LARGEST + figures.MAX_SAVED_BYTES + tables + value
        self.assertLess(most, 48 << 20)
        self.assertLess(budget.MAX_RESULTS + budget.LAST + 1, 10_000)
        self.assertLess(budget.MAX_COST + figures.MAX_SAVED_COST + 2 * cost.MAX_COST, 2_000_000)


if __name__ == "__main__":
    unittest.main()
