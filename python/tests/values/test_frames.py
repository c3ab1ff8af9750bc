"""Tests of summaries of tables and of writing them out."""

import json
import os
import tempfile
import time
import unittest
from unittest import mock

from _vivarium.values.frames import frame_as_csv, frame_as_parquet, summarize_frames

try:
    import numpy as np
    import pandas as pd
except ImportError:
    np = pd = None  # type: ignore[assignment]


def trap(*_: object, **__: object) -> object:
    raise SystemExit("code of the program ran")


def hang(*_: object) -> str:
    while True:
        pass


@unittest.skipIf(np is None, "numpy and pandas are not installed")
class Summaries(unittest.TestCase):
    def _summarize(self, **variables: object) -> "list[dict[str, object]]":
        found = summarize_frames(variables, list(variables))
        json.dumps(found, allow_nan=False)
        return found

    def test_a_table_is_summarized(self) -> None:
        frame = pd.DataFrame({"a": [1, 2], "b": [0.5, None], "c": ["x", None], "d": pd.array([1, None], dtype="Int64")})
        (found,) = self._summarize(df=frame)
        self.assertEqual((found["name"], found["type"], found["rows"], found["columnCount"]), ("df", "DataFrame", 2, 4))
        self.assertEqual(
            [(column["name"], column["missing"]) for column in found["columns"]],
            [("a", 0), ("b", 1), ("c", 1), ("d", 1)],
        )
        self.assertEqual([column["dtype"] for column in found["columns"]][::3], ["int64", "Int64"])
        self.assertEqual(found["preview"], [[1, 0.5, "x", 1], [2, None, None, None]])
        self.assertEqual(found["repr"], repr(frame))
        self.assertNotIn("note", found)

    def test_the_text_is_the_repr_of_pandas(self) -> None:
        frames = [
            pd.DataFrame(np.arange(rows * columns).reshape(rows, columns))
            for rows, columns in ((2, 2), (60, 20), (61, 2), (3, 30))
        ]
        for frame in (*frames, pd.DataFrame({"text": ["x" * 100] * 60, "n": range(60)}), pd.DataFrame()):
            (found,) = self._summarize(df=frame)
            self.assertEqual(found["repr"], repr(frame))

    def test_only_named_tables_are_summarized(self) -> None:
        frame = pd.DataFrame({"a": [1]})
        derived = type("Derived", (pd.DataFrame,), {})({"a": [1]})
        values = {
            "s": frame["a"],
            "i": frame.index,
            "t": pd.Timestamp(0),
            "n": 1,
            "cls": pd.DataFrame,
            "old": frame,
            "new": frame,
            "d": derived,
        }
        names = [name for name in values if name != "old"] + ["gone"]
        self.assertEqual(
            [(item["name"], item["type"]) for item in summarize_frames(values, names)],
            [("new", "DataFrame"), ("d", "Derived")],
        )

    def test_row_labels_are_listed_unless_they_are_row_numbers(self) -> None:
        (found,) = self._summarize(df=pd.DataFrame({"k": ["p", "q"], "v": [1, 2]}).groupby("k").sum())
        self.assertEqual((found["index"], found["preview"]), (["p", "q"], [[1], [2]]))

    def test_odd_column_names_become_text(self) -> None:
        frame = pd.DataFrame([[1, 2, 3]], columns=[("a", 1), 5, "\ud800"])
        frame = pd.concat([frame, frame], axis=1)
        (found,) = self._summarize(df=frame)
        self.assertEqual([column["name"] for column in found["columns"]][:3], ["('a', 1)", "5", "\ufffd"])
        self.assertEqual(self._summarize(df=pd.DataFrame())[0]["preview"], [])

    def test_large_tables_take_bounded_time_and_space(self) -> None:
        tall = pd.DataFrame(
            {"i": np.zeros(6_000_000, "i1"), "x": np.zeros(6_000_000, "f4"), "y": np.zeros(6_000_000, "f4")}
        )
        wide = pd.DataFrame(np.zeros((3, 20_000)))
        fat = pd.DataFrame({n: ["x" * 10**5] * 10 for n in range(25)})
        start = time.process_time()
        found = self._summarize(tall=tall, wide=wide, fat=fat)
        self.assertLess(time.process_time() - start, 5)
        self.assertLess(len(json.dumps(found)), 200_000)
        self.assertEqual([column["missing"] for column in found[0]["columns"]], [0, 0, None])
        self.assertIn("not counted", found[0]["note"])
        self.assertEqual((len(found[1]["columns"]), found[1]["note"]), (200, "19800 more columns"))
        self.assertEqual([len(row) for row in found[2]["preview"]], [20] * 5)

    def test_settings_of_the_program_do_not_flood_the_text(self) -> None:
        with pd.option_context("display.max_rows", None, "display.max_colwidth", None):
            (found,) = self._summarize(df=pd.DataFrame({"a": range(200_000)}))
        self.assertLess(len(found["repr"]), 1_000)

    def test_a_hostile_subclass_runs_no_code(self) -> None:
        kind = type("Evil", (pd.DataFrame,), {})
        frame = kind({"a": [1.0, None]})
        for name in ("shape", "columns", "index", "iloc", "_constructor"):
            setattr(kind, name, property(trap))
        for name in ("__getattribute__", "__len__", "__iter__", "items"):
            setattr(kind, name, trap)
        kind.__repr__ = hang
        (found,) = self._summarize(df=frame)
        self.assertEqual((found["type"], found["rows"], found["preview"]), ("Evil", 2, [[1.0], [None]]))
        (found,) = self._summarize(df=kind.__new__(kind))
        self.assertEqual(found["note"], "no summary: TypeError")

    def test_hostile_cells_do_not_break_the_summary(self) -> None:
        bad = type("Bad", (), {"__repr__": trap, "__str__": trap, "__eq__": trap, "__hash__": None, "__bool__": trap})
        (found,) = self._summarize(df=pd.DataFrame({"a": [bad(), 1]}))
        self.assertEqual((found["rows"], found["preview"][1]), (2, [1]))
        self.assertEqual(found["preview"][0][0]["type"], "Bad")


class WithoutPandas(unittest.TestCase):
    def test_without_pandas_nothing_is_a_table(self) -> None:
        with mock.patch.dict("sys.modules", {"pandas": None}):
            self.assertEqual(summarize_frames({"a": 1}, ["a"]), [])
            with self.assertRaisesRegex(ValueError, "no DataFrame but int"):
                frame_as_csv(1, "/nowhere")


@unittest.skipIf(np is None, "numpy and pandas are not installed")
class Files(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "table")

    def test_all_rows_are_written_as_csv(self) -> None:
        frame_as_csv(pd.DataFrame({"a": [1, 2], "b": ["x,y", "\ud800"]}, dtype=object), self.path)
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual(file.read(), 'a,b\n1,"x,y"\n2,?\n')
        frame_as_csv(pd.DataFrame({"k": ["p"], "v": [1]}).set_index("k"), self.path)
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "k,v\np,1\n")

    def test_all_rows_are_written_as_parquet(self) -> None:
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            self.skipTest("pyarrow is not installed")
        frame_as_parquet(pd.DataFrame([[1, 2, "x"]], columns=["a", "a", 5]), self.path)
        self.assertEqual(pd.read_parquet(self.path).to_dict("list"), {"a": [1], "a.2": [2], "5": ["x"]})
        with self.assertRaisesRegex(ValueError, "Parquet cannot hold this table: .* Ask for CSV"):
            frame_as_parquet(pd.DataFrame({"a": [object(), 1]}), self.path)

    def test_parquet_without_pyarrow_says_what_to_do(self) -> None:
        with mock.patch.dict("sys.modules", {"pyarrow": None}), self.assertRaisesRegex(ValueError, "needs pyarrow"):
            frame_as_parquet(pd.DataFrame({"a": [1]}), self.path)


if __name__ == "__main__":
    unittest.main()
