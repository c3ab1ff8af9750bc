"""Tests of plotly figures with fewer points, without plotly."""

import base64
import json
import struct
import unittest

from _vivarium.display.thinning import sample, thin


def figure(*traces: dict) -> str:
    """The JSON of a figure."""
    return json.dumps({"data": list(traces), "layout": {"title": {"text": "T"}}})


def packed(values: list, *shape: int) -> dict:
    """Numbers as plotly packs them."""
    content = base64.b64encode(struct.pack(f"<{len(values)}i", *values)).decode()
    return {"dtype": "i4", "bdata": content, **({"shape": ", ".join(map(str, shape))} if shape else {})}


def unpacked(array: dict) -> list:
    """The numbers of a packed array."""
    content = base64.b64decode(array["bdata"])
    return list(struct.unpack(f"<{len(content) // 4}i", content))


class Thinning(unittest.TestCase):
    def thin(self, text: str, limit: int) -> tuple:
        found = thin(text, limit)
        assert found is not None
        smaller, kept, total = found
        self.assertLessEqual(len(smaller), limit)
        return json.loads(smaller), kept, total

    def test_samples_are_even_and_have_both_ends(self) -> None:
        self.assertEqual(sample(5, 10), [0, 1, 2, 3, 4])
        self.assertEqual(sample(101, 5), [0, 25, 50, 75, 100])

    def test_arrays_of_a_trace_stay_aligned_whatever_their_form(self) -> None:
        numbers = list(range(10_000))
        trace = {"x": packed(numbers), "y": numbers, "marker": {"size": numbers, "color": "red"}, "name": "n"}
        smaller, kept, total = self.thin(figure(trace), 20_000)
        got = smaller["data"][0]
        self.assertEqual(total, 10_000)
        self.assertEqual(len(got["y"]), kept)
        self.assertEqual(unpacked(got["x"]), got["y"])
        self.assertEqual(got["marker"], {"size": got["y"], "color": "red"})
        self.assertEqual((got["y"][0], got["y"][-1], got["name"]), (0, 9_999, "n"))
        self.assertEqual(smaller["layout"]["meta"], {"omittedPoints": 10_000 - kept})
        self.assertEqual(smaller["layout"]["title"], {"text": "T"})

    def test_a_grid_loses_rows_and_columns_with_their_labels(self) -> None:
        cells = [row * 300 + column for row in range(200) for column in range(300)]
        for grid in (packed(cells, 200, 300), [cells[row * 300 : row * 300 + 300] for row in range(200)]):
            trace = {"type": "heatmap", "z": grid, "x": list(range(300)), "y": list(range(200))}
            smaller, kept, total = self.thin(figure(trace), 100_000)
            got = smaller["data"][0]
            rows, columns = len(got["y"]), len(got["x"])
            self.assertEqual((rows * columns, total), (kept, 60_000))
            if "bdata" in got["z"]:
                self.assertEqual(got["z"]["shape"], f"{rows}, {columns}")
                self.assertEqual(len(unpacked(got["z"])), kept)
            else:
                self.assertEqual((len(got["z"]), len(got["z"][0])), (rows, columns))

    def test_short_and_linked_arrays_are_kept(self) -> None:
        tree = {"type": "treemap", "labels": [f"l{n}" for n in range(1_000)], "parents": [""] * 1_000}
        long = {"y": list(range(50_000)), "colorscale": [[0, "red"], [1, "blue"]]}
        smaller, _, total = self.thin(figure(tree, long), 50_000)
        self.assertEqual((smaller["data"][0], total), (tree, 50_000))
        self.assertEqual(smaller["data"][1]["colorscale"], long["colorscale"])

    def test_what_cannot_be_thinned_is_none(self) -> None:
        self.assertIsNone(thin(figure({"name": "n" * 10_000}), 5_000))
        with self.assertRaises(ValueError):
            thin(figure({"z": packed(list(range(1_000)), 10, 10, 10)}), 1_000)


if __name__ == "__main__":
    unittest.main()
