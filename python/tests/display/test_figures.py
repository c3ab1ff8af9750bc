"""Tests of the collector of pictures, with the real libraries where they are installed."""

import gc
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
import weakref
from unittest import mock

from _vivarium.display import figures as figures_module
from _vivarium.display import pictures
from _vivarium.display.figures import MAX_PICTURES, Figures
from _vivarium.display.pictures import PLOTLY
from _vivarium.display.publisher import Publisher, bundle

HAS_ALL = all(importlib.util.find_spec(name) for name in ("matplotlib", "seaborn", "plotly", "PIL"))
HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIVE = """
import matplotlib
matplotlib.use("TkAgg")
import matplotlib.pyplot as plt, seaborn as sns, plotly.express as px
plt.switch_backend("QtAgg")
plt.figure(); plt.plot([1, 2]); plt.title("first")
plt.figure(); plt.bar(["a"], [1]); plt.title("second")
shown = plt.figure(); plt.scatter([1], [2]); plt.title("third")
plt.show()
shown.show()
px.line(x=[1, 2], y=[3, 4], title="fourth").show()
sns.lineplot(x=[1, 2], y=[5, 6]).set_title("fifth")
"""
PROGRAM = """
import json, os, sys
sys.path.insert(0, {path!r})
if {preload}:
    os.environ["MPLBACKEND"] = "Agg"
    import matplotlib.pyplot, plotly.io, PIL.Image
    os.environ["MPLBACKEND"] = "TkAgg"
from _vivarium.display.figures import Figures
items = []
figures = Figures(items.append)
figures.begin_run()
try:
    exec({code!r}, {{}})
finally:
    figures.end_run()
    print(json.dumps([[item["title"], sorted(item["data"])[0]] for item in items]))
"""


def run_apart(code: str, *, preload: bool) -> list[list[str]]:
    """Run code in a new interpreter whose environment asks for windows."""
    program = PROGRAM.format(path=HERE, code=code, preload=preload)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MPLBACKEND": "TkAgg"},
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


@unittest.skipUnless(HAS_ALL, "needs matplotlib, seaborn, plotly and Pillow")
class Apart(unittest.TestCase):
    def test_five_pictures_in_order_without_duplicates(self) -> None:
        for preload in (False, True):
            with self.subTest(preload=preload):
                self.assertEqual(
                    run_apart(FIVE, preload=preload),
                    [
                        ["first", "image/png"],
                        ["second", "image/png"],
                        ["third", "image/png"],
                        ["fourth", PLOTLY],
                        ["fifth", "image/png"],
                    ],
                )

    def test_figures_from_before_an_error_are_kept(self) -> None:
        code = "import matplotlib.pyplot as plt\nplt.plot([1]); plt.title('kept')\n1 / 0"
        self.assertEqual(run_apart(code, preload=False), [["kept", "image/png"]])


@unittest.skipUnless(HAS_ALL, "needs matplotlib, seaborn, plotly and Pillow")
class Collecting(unittest.TestCase):
    def setUp(self) -> None:
        self.items: list[dict] = []
        self.finders = list(sys.meta_path)
        self.publisher = Publisher(self.items.append)
        self.figures = self.publisher.figures
        import matplotlib.pyplot as plt

        self.plt = plt
        self.publisher.begin_run()

    def tearDown(self) -> None:
        self.publisher.end_run()
        sys.meta_path[:] = self.finders

    def titles(self) -> list[str | None]:
        return [item["title"] for item in self.items]

    def test_show_closes_so_that_the_next_plot_is_a_new_figure(self) -> None:
        for number in range(3):
            self.plt.plot([number, 1])
            self.plt.title(f"{number}")
            self.plt.show()
        self.publisher.end_run()
        self.assertEqual(self.titles(), ["0", "1", "2"])
        self.assertEqual(len(self.items[2]["chart"]["series"]), 1)

    def test_without_blocking_a_figure_stays_open(self) -> None:
        self.plt.plot([1])
        self.plt.show(block=False)
        self.plt.pause(0.001)
        self.plt.title("later")
        self.publisher.end_run()
        self.assertEqual(self.titles(), [None, "later"])

    def test_interactive_mode_changes_nothing(self) -> None:
        self.plt.ion()
        try:
            self.plt.plot([1])
            self.plt.show()
            self.plt.draw()
            self.plt.pause(0.001)
        finally:
            self.plt.ioff()
        self.publisher.end_run()
        self.assertEqual(len(self.items), 1)

    def test_a_held_figure_can_be_shown_again_and_is_published_when_changed(self) -> None:
        figure, axes = self.plt.subplots()
        axes.plot([1, 2])
        self.publisher.end_run()
        self.assertEqual(self.plt.get_fignums(), [])
        self.assertFalse(figure.stale)
        self.publisher.begin_run()
        self.publisher.end_run()
        self.assertEqual(len(self.items), 1)
        self.publisher.begin_run()
        figure.show()
        self.publisher.end_run()
        self.assertEqual(len(self.items), 2)
        self.publisher.begin_run()
        axes.set_title("changed")
        self.publisher.end_run()
        self.assertEqual(self.titles(), [None, None, "changed"])

    def test_closed_figures_are_freed(self) -> None:
        refs = []
        for number in range(3):
            figure = self.plt.figure()
            self.plt.plot([number])
            self.plt.savefig(io.BytesIO())
            refs.append(weakref.ref(figure))
        del figure
        self.publisher.end_run()
        self.publisher.begin_run()
        gc.collect()
        self.assertEqual([one() for one in refs], [None] * 3)

    def test_empty_figures_are_not_published(self) -> None:
        self.plt.figure()
        self.plt.show()
        self.plt.figure()
        self.publisher.end_run()
        self.assertEqual(self.items, [])

    def test_a_figure_that_cannot_be_drawn_does_not_affect_others(self) -> None:
        for title in ("good", "bad", "fine"):
            self.plt.figure()
            self.plt.plot([1])
            self.plt.title(title)
            if title == "bad":
                self.plt.xlabel("$\\nonsense{$")
        self.publisher.end_run()
        self.assertEqual(["image/png" in one["data"] for one in self.items], [True, False, True])
        self.assertIn("could not be drawn: ValueError", self.items[1]["data"]["text/plain"])

    def test_the_size_of_pictures_is_bounded(self) -> None:
        from PIL import Image

        bounded = mock.patch.object(pictures, "MAX_PIXELS", 1_000_000)
        bounded.start()
        self.addCleanup(bounded.stop)
        self.plt.figure(figsize=(50, 50), dpi=1000)
        self.plt.plot([1])
        self.plt.figure(figsize=(5000, 5000))
        self.plt.plot([2])
        self.plt.figure()
        self.plt.plot([3])
        self.plt.text(20, 3, "far away")
        self.publisher.end_run()
        first, second, third = (item["data"] for item in self.items)
        self.assertLessEqual(max(Image.open(io.BytesIO(first["image/png"])).size), 1_100)
        self.assertIn("instead of 100 dots", first["text/plain"])
        self.assertIn("5000 x 5000 inches are too large", second["text/plain"])
        self.assertLessEqual(max(Image.open(io.BytesIO(third["image/png"])).size), 1_000)
        self.assertIn("far outside", third["text/plain"])

    def test_the_number_of_pictures_is_bounded(self) -> None:
        from PIL import Image

        for number in range(MAX_PICTURES + 5):
            Image.new("L", (1, 1 + number)).show()
        self.assertEqual(len(self.items), MAX_PICTURES + 1)
        self.assertIn("left out", self.items[-1]["data"]["text/plain"])
        report = self.publisher.report()
        self.assertEqual((report["total"], report["kept"]), (MAX_PICTURES + 5, MAX_PICTURES + 1))

    def test_cleared_pictures_make_room_and_may_come_again(self) -> None:
        from PIL import Image

        for number in range(MAX_PICTURES + 5):
            Image.new("L", (1, 1 + number)).show()
            self.publisher.clear(wait=True)
        Image.new("L", (1, 1)).show()
        self.publisher.end_run()
        pictures_shown = [one for one in self.items if one["kind"] == "figure"]
        self.assertEqual([one["picture"] for one in pictures_shown], list(range(1, MAX_PICTURES + 7)))
        self.assertTrue(all("image/png" in one["data"] for one in pictures_shown))
        self.assertIsNone(self.publisher.report())

    def test_a_saved_figure_is_not_taken_for_a_picture_that_was_cleared(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            figure = self.plt.figure()
            self.plt.plot([1])
            figure.show()
            figure.savefig(f"{folder}/a.png")
            self.assertEqual(self.publisher.figures.saved[0]["picture"], 1)
            self.publisher.clear()
            self.assertIsNone(self.publisher.figures.saved[0]["picture"])
            figure.show()
            self.assertEqual(self.publisher.figures.saved[0]["picture"], 2)

    def test_a_picture_of_too_many_bytes_is_drawn_smaller(self) -> None:
        import numpy as np
        from PIL import Image

        bounded = mock.patch.object(pictures, "MAX_BYTES", 50_000)
        bounded.start()
        self.addCleanup(bounded.stop)
        noise = np.random.default_rng(1).integers(0, 255, (400, 400, 3), dtype="uint8")
        Image.fromarray(noise).show()
        self.plt.imshow(noise)
        self.publisher.end_run()
        for item in self.items:
            self.assertLessEqual(len(item["data"]["image/png"]), 50_000)
            self.assertIn("because it is large", item["data"]["text/plain"])
        self.assertEqual(self.publisher.report()["reduced"], 2)

    def test_saved_figures_share_room_for_their_data(self) -> None:
        bounded = mock.patch.object(figures_module, "MAX_SAVED_BYTES", 60_000)
        bounded.start()
        self.addCleanup(bounded.stop)
        with tempfile.TemporaryDirectory() as folder:
            self.plt.plot(range(1_000))
            for number in range(6):
                self.plt.savefig(f"{folder}/{number}.png")
        charts = [one["chart"] for one in self.publisher.figures.saved]
        self.assertIn("series", charts[0])
        self.assertEqual(set(charts[-1]), {"type", "title", "omitted"})

    def test_figures_are_published_as_svg_on_request(self) -> None:
        self.publisher.begin_run(svg=True)
        self.plt.plot([1])
        self.publisher.end_run()
        self.assertIn("<svg", self.items[0]["data"]["image/svg+xml"])

    def test_a_solid_background_stays_and_a_transparent_one_turns_white(self) -> None:
        from PIL import Image

        for colour, expected in (("black", (0, 0, 0, 255)), ("none", (255, 255, 255, 255))):
            self.plt.figure(facecolor=colour)
            self.plt.plot([1])
            self.plt.show()
            picture = Image.open(io.BytesIO(self.items[-1]["data"]["image/png"])).convert("RGBA")
            self.assertEqual(picture.getpixel((1, 1)), expected)

    def test_an_echoed_figure_is_not_published_twice(self) -> None:
        figure = self.plt.figure()
        self.plt.plot([1])
        self.publisher.echo(figure)
        self.publisher.end_run()
        self.assertEqual([(one["kind"], "image/png" in one["data"]) for one in self.items], [("result", True)])
        self.assertEqual(self.items[0]["chart"]["type"], "line")
        self.publisher.begin_run()
        figure.show()
        self.publisher.echo(figure)
        self.assertEqual(
            [(one["kind"], "image/png" in one["data"]) for one in self.items[1:]], [("figure", True), ("result", False)]
        )

    def test_saved_files_are_noted_with_full_paths(self) -> None:
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                self.plt.plot([1, 2])
                self.plt.title("t")
                self.plt.savefig("a.png")
                self.plt.savefig("b")
                self.plt.close()
                self.plt.plot([1, 2])
                self.plt.savefig("c.svg")
            finally:
                os.chdir(before)
            self.publisher.end_run()
            folder = os.path.realpath(folder)
            saved = [
                (os.path.relpath(os.path.realpath(one["path"]), folder), one["title"], one["picture"])
                for one in self.figures.saved
            ]
        self.assertEqual(saved, [("a.png", "t", None), ("b.png", "t", None), ("c.svg", None, 1)])
        self.assertEqual(self.figures.saved[0]["chart"]["title"], "t")
        self.publisher.begin_run()
        self.assertEqual(self.figures.saved, [])

    def test_pillow_images_and_plotly_dictionaries_are_pictures(self) -> None:
        import numpy as np
        import plotly.graph_objects as go
        import plotly.io as pio
        from PIL import Image

        for mode in ("RGB", "RGBA", "L", "1", "P", "CMYK", "F", "I", "YCbCr"):
            self.assertIn("image/png", bundle(Image.new(mode, (2, 2))), mode)
        Image.new("RGB", (2, 2)).show()
        pio.show({"data": [{"type": "bar", "y": [1]}], "layout": {}})
        self.publisher.publish(go.Figure(go.Scatter(y=np.arange(3.0))))
        go.Figure(go.Scatter(y=np.arange(3.0))).show(renderer="browser")
        self.assertEqual([sorted(one["data"])[0] for one in self.items], ["image/png", PLOTLY, PLOTLY])
        self.assertEqual(json.loads(self.items[2]["data"][PLOTLY])["data"][0]["type"], "scatter")
        self.assertNotIn("text/html", bundle(go.Figure()))
        self.publisher.publish({"data": [1]})
        self.assertEqual(self.items[3]["kind"], "display")

    def test_an_unknown_backend_gets_the_error_of_matplotlib(self) -> None:
        import matplotlib

        for wish in ("TkAgg", "qt5agg", "module://matplotlib_inline.backend_inline", "agg"):
            matplotlib.use(wish)
            self.assertEqual(matplotlib.get_backend().lower(), "agg")
        with self.assertRaises((ValueError, ImportError)):
            matplotlib.use("nonsense")


class Without(unittest.TestCase):
    def test_no_library_is_imported(self) -> None:
        code = f"import sys; sys.path.insert(0, {HERE!r}); from _vivarium.display.figures import Figures; f = Figures(print); f.begin_run(); f.end_run()"
        code += "; assert not {'matplotlib', 'plotly', 'PIL', 'numpy', 'IPython'} & set(sys.modules)"
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_figures_do_not_need_the_rest_of_the_package(self) -> None:
        finders = list(sys.meta_path)
        self.addCleanup(lambda: sys.meta_path.__setitem__(slice(None), finders))
        figures = Figures(self.fail)
        figures.begin_run()
        figures.show(5)
        figures.end_run()


if __name__ == "__main__":
    unittest.main()
