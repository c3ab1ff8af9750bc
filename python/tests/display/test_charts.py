"""Tests of the data behind figures, exact for each kind of plot."""

import datetime
import importlib.util
import json
import math
import sys
import unittest
from unittest import mock

from _vivarium.display.chart import chart as chart_module
from _vivarium.display.chart.chart import chart_of
from _vivarium.display.figures import Figures
from _vivarium.values.cost import MAX_COST, cost_of

HAS_ALL = all(importlib.util.find_spec(name) for name in ("matplotlib", "seaborn", "pandas"))


@unittest.skipUnless(HAS_ALL, "needs matplotlib, seaborn and pandas")
class Charts(unittest.TestCase):
    def setUp(self) -> None:
        self.finders = list(sys.meta_path)
        self.figures = Figures(lambda item: None)
        import matplotlib.pyplot as plt

        self.plt = plt

    def tearDown(self) -> None:
        self.plt.close("all")
        sys.meta_path[:] = self.finders

    def chart(self) -> dict:
        chart = chart_of(self.plt.gcf())
        json.dumps(chart, allow_nan=False)
        assert chart is not None
        return chart

    def points(self, index: int = 0) -> list:
        return self.chart()["series"][index]["points"]

    def test_many_plots_with_many_lines_are_cut_to_what_the_host_takes(self) -> None:
        axes = self.plt.subplots(8, 8)[1]
        for plot in axes.flat:
            plot.plot([[number] * 20 for number in range(3_000)])
        chart = self.chart()
        self.assertLessEqual(cost_of(json.dumps(chart)), MAX_COST)
        self.assertEqual((len(chart["charts"]), chart["omitted"]["charts"]), (50, 14))
        self.assertGreater(chart["omitted"]["points"], 2_900_000)

    def test_many_boxes_are_cut_to_what_the_host_takes(self) -> None:
        axes = self.plt.subplots(4, 4)[1]
        for plot in axes.flat:
            plot.boxplot([[number, number + 1] for number in range(400)])
        self.assertLessEqual(cost_of(json.dumps(self.chart())), MAX_COST)

    def test_lines_have_labels_units_and_scales(self) -> None:
        self.plt.plot([1, 2, 3], [10, math.nan, 1000], label="one")
        self.plt.plot([1, 2], [20, 30], label="two")
        self.plt.axhline(50, label="limit")
        self.plt.yscale("log")
        self.plt.title("Speeds")
        self.plt.xlabel("Time (s)")
        self.plt.ylabel("Speed [km/h]")
        self.plt.legend()
        chart = self.chart()
        self.assertEqual((chart["type"], chart["title"]), ("line", "Speeds"))
        self.assertEqual([chart["x"][key] for key in ("label", "unit", "scale")], ["Time (s)", "s", "linear"])
        self.assertEqual([chart["y"][key] for key in ("label", "unit", "scale")], ["Speed [km/h]", "km/h", "log"])
        self.assertEqual(
            chart["series"],
            [
                {"type": "line", "label": "one", "points": [[1, 10], [2, None], [3, 1000]], "count": 3},
                {"type": "line", "label": "two", "points": [[1, 20], [2, 30]], "count": 2},
                {"type": "rule", "label": "limit", "orientation": "horizontal", "value": 50},
            ],
        )

    def test_series_take_names_from_the_legend(self) -> None:
        self.plt.plot([1, 2])
        self.plt.plot([2, 1])
        self.plt.legend(["first", "second"])
        self.assertEqual([one["label"] for one in self.chart()["series"]], ["first", "second"])

    def test_dates_are_iso_text(self) -> None:
        import pandas as pd

        days = [datetime.date(2024, 1, 1), datetime.date(2024, 2, 29)]
        self.plt.plot(days, [1, 2])
        self.assertEqual(self.points(), [["2024-01-01T00:00:00", 1], ["2024-02-29T00:00:00", 2]])
        self.assertEqual(self.chart()["x"]["scale"], "date")
        self.plt.close("all")
        zone = datetime.timezone(datetime.timedelta(hours=2))
        self.plt.plot([datetime.datetime(2024, 1, 1, 12, tzinfo=zone)], [1])
        self.assertEqual(self.points(), [["2024-01-01T12:00:00+02:00", 1]])
        self.plt.close("all")
        pd.Series([1, 2], index=pd.date_range("2024-01-01", periods=2, freq="MS")).plot()
        self.assertEqual(self.points(), [["2024-01", 1], ["2024-02", 2]])

    def test_scatters_have_points_and_one_series_for_each_colour(self) -> None:
        self.plt.scatter([1, 2], [3, 4.5], label="s")
        self.plt.plot([5, 6], [7, 8], "o")
        chart = self.chart()
        self.assertEqual(chart["type"], "scatter")
        self.assertEqual(
            chart["series"],
            [
                {"type": "scatter", "label": "s", "points": [[1, 3], [2, 4.5]], "count": 2},
                {"type": "scatter", "label": None, "points": [[5, 7], [6, 8]], "count": 2},
            ],
        )

    def test_bars_have_categories_and_values(self) -> None:
        self.plt.bar(["a", "b"], [1, 2.5], color=["red", "blue"])
        chart = self.chart()
        self.assertEqual((chart["type"], chart["arrangement"], chart["x"]["scale"]), ("bar", "single", "categorical"))
        self.assertEqual(
            chart["series"],
            [
                {"type": "bar", "label": None, "orientation": "vertical", "points": [["a", 1], ["b", 2.5]], "count": 2},
            ],
        )

    def test_bars_side_by_side_are_grouped(self) -> None:
        for index, label in enumerate(("A", "B")):
            self.plt.bar([0 + index * 0.4, 1 + index * 0.4], [index + 1, index + 3], 0.4, label=label)
        self.plt.xticks([0.2, 1.2], ["p", "q"])
        chart = self.chart()
        self.assertEqual(chart["arrangement"], "grouped")
        self.assertEqual(
            [(one["label"], one["points"]) for one in chart["series"]],
            [
                ("A", [["p", 1], ["q", 3]]),
                ("B", [["p", 2], ["q", 4]]),
            ],
        )

    def test_stacked_bars_have_bottoms_and_horizontal_ones_an_orientation(self) -> None:
        self.plt.barh(["p", "q"], [1, 2], label="A")
        self.plt.barh(["p", "q"], [3, 4], left=[1, 2], label="B")
        chart = self.chart()
        self.assertEqual(chart["arrangement"], "stacked")
        self.assertEqual(
            [(one["orientation"], one["points"], one.get("bottoms")) for one in chart["series"]],
            [
                ("horizontal", [["p", 1], ["q", 2]], None),
                ("horizontal", [["p", 3], ["q", 4]], [1, 2]),
            ],
        )

    def test_histograms_have_widths(self) -> None:
        self.plt.hist([1, 1, 2, 3], bins=[0, 2, 4])
        series = self.chart()["series"][0]
        self.assertEqual((series["points"], series["widths"]), ([[1, 2], [3, 2]], [2, 2]))

    def test_pies_have_labels_and_exact_values(self) -> None:
        self.plt.pie([1, 2, 3.3], labels=["a", "b", "c"], autopct="%.1f")
        self.assertEqual(
            self.chart(),
            {
                "type": "pie",
                "title": None,
                "series": [{"type": "pie", "label": None, "points": [["a", 1], ["b", 2], ["c", 3.3]], "count": 3}],
            },
        )

    def test_box_plots_have_their_statistics(self) -> None:
        self.plt.boxplot([[1, 2, 3, 4, 100], [2, 3, 4]])
        self.plt.xticks([1, 2], ["a", "b"])
        chart = self.chart()
        self.assertEqual(chart["type"], "box")
        box = {
            "minimum": 1,
            "q1": 2,
            "median": 3,
            "q3": 4,
            "maximum": 4,
            "mean": 22,
            "outliers": [100],
            "outlierCount": 1,
        }
        found = chart["series"][0]
        self.assertEqual({key: found["boxes"][0][key] for key in box}, box)
        self.assertEqual((found["orientation"], found["count"], found["boxes"][1]["median"]), ("vertical", 2, 3))
        self.plt.cla()
        self.plt.plot([1])
        self.assertEqual(self.chart()["type"], "line")

    def test_plots_of_seaborn_are_read(self) -> None:
        import pandas as pd
        import seaborn as sns

        data = pd.DataFrame({"g": ["x", "x", "y", "y"], "v": [1.0, 2.0, 3.0, 5.0], "h": ["p", "q", "p", "q"]})
        sns.barplot(data, x="g", y="v", hue="h")
        self.assertEqual(
            [(one["label"], one["points"]) for one in self.chart()["series"]],
            [
                ("p", [["x", 1], ["y", 3]]),
                ("q", [["x", 2], ["y", 5]]),
            ],
        )
        self.plt.close("all")
        sns.scatterplot(data, x="v", y="v", hue="h")
        self.assertEqual(
            [(one["label"], one["points"]) for one in self.chart()["series"]],
            [
                ("p", [[1, 1], [3, 3]]),
                ("q", [[2, 2], [5, 5]]),
            ],
        )
        self.plt.close("all")
        sns.lineplot(data, x="v", y="v", hue="h")
        self.assertEqual([(one["label"], one["count"]) for one in self.chart()["series"]], [("p", 2), ("q", 2)])
        self.plt.close("all")
        sns.boxplot(data, x="g", y="v")
        self.assertEqual(
            [(one["label"], one["median"]) for one in self.chart()["series"][0]["boxes"]], [("x", 1.5), ("y", 4)]
        )

    def test_many_points_are_sampled_and_counted(self) -> None:
        self.plt.plot(range(100_001))
        series = self.chart()["series"][0]
        self.assertEqual((len(series["points"]), series["count"]), (1_000, 100_001))
        self.assertEqual((series["points"][0], series["points"][-1]), ([0, 0], [100_000, 100_000]))
        self.assertEqual(self.chart()["omitted"], {"points": 99_001})

    def test_a_figure_with_many_series_lists_fewer_points_of_the_long_ones(self) -> None:
        _, axes = self.plt.subplots(2, 2)
        for plot in axes.flat:
            for _ in range(20):
                plot.plot(range(3_000))
            plot.plot([1, 2, 3], label="short")
        chart = self.chart()
        counts = [[len(one["points"]) for one in plot["series"]] for plot in chart["charts"]]
        self.assertEqual([row[-1] for row in counts], [3] * 4)
        self.assertEqual({number for row in counts for number in row[:-1]}, {249})
        self.assertEqual(chart["omitted"], {"points": 80 * (3_000 - 249)})

    def test_what_is_not_listed_is_counted(self) -> None:
        figure = self.plt.figure()
        for number in range(52):
            figure.add_axes((0, 0, 1, 1), label=str(number)).plot([1])
        for _ in range(103):
            figure.axes[0].plot([1, 2])
        self.assertEqual(self.chart()["omitted"], {"series": 4, "charts": 2})

    def test_long_names_take_points_from_a_chart(self) -> None:
        for part in range(18):
            self.plt.scatter([f"{number}-{'name' * 40}" for number in range(60)], range(60), label=part)
        with mock.patch.object(chart_module, "MAX_BYTES", 100_000):
            chart = self.chart()
            self.assertLess(len(json.dumps(chart)), 100_000)
            self.assertGreater(chart["omitted"]["points"], 0)
        with mock.patch.object(chart_module, "MAX_BYTES", 1_000):
            self.assertEqual(set(self.chart()), {"type", "title", "omitted"})

    def test_several_plots_in_one_figure_are_listed(self) -> None:
        figure, axes = self.plt.subplots(1, 3)
        axes[0].plot([1])
        axes[1].bar([1], [2])
        figure.suptitle("Both")
        chart = self.chart()
        self.assertEqual((chart["type"], chart["title"]), ("several", "Both"))
        self.assertEqual([one["type"] for one in chart["charts"]], ["line", "bar"])

    def test_mixed_and_unknown_plots_are_named_as_such(self) -> None:
        self.plt.scatter([1, 2], [3, 4])
        self.plt.plot([1, 2], [3, 4])
        self.assertEqual(self.chart()["type"], "mixed")
        self.plt.close("all")
        self.plt.imshow([[1, 2]])
        self.plt.colorbar()
        self.plt.title("image")
        self.assertEqual(self.chart(), {"type": "unknown", "title": "image", "artists": ["AxesImage"]})

    def test_reading_a_broken_figure_never_raises(self) -> None:
        from matplotlib.figure import Figure

        self.assertIsNone(chart_of(None))
        self.assertIsNone(chart_of(Figure()))
        figure, axes = self.plt.subplots()
        line = axes.plot([1])[0]
        line.get_xdata = lambda **_: 1 / 0
        self.assertEqual(chart_of(figure), {"type": "unknown", "title": None})


if __name__ == "__main__":
    unittest.main()
