"""Tests of tables of polars, pyarrow and DuckDB."""

import json
import os
import tempfile
import unittest
from datetime import date, timedelta

from _vivarium.values.encode import encode_value
from _vivarium.values.frames import export_frame, summarize_frames

try:
    import duckdb
    import polars as pl
    import pyarrow as pa
except ImportError:
    duckdb = pl = pa = None  # type: ignore[assignment]

CONTENT = {"a": [1, 2, None], "b": ["x", "y", "z"], "c": [0.5, 1.5, 2.5]}


@unittest.skipIf(pl is None, "polars, pyarrow and duckdb are not installed")
class OtherTables(unittest.TestCase):
    def setUp(self) -> None:
        self.tables = {
            "polars": pl.DataFrame(CONTENT),
            "arrow": pa.table(CONTENT),
            "batch": pa.record_batch(CONTENT),
            "relation": duckdb.sql(
                "select * from (values (1, 'x', 0.5::double), (2, 'y', 1.5), (null, 'z', 2.5)) t(a, b, c)"
            ),
        }

    def test_each_is_summarized_with_shape_types_and_a_preview(self) -> None:
        found = summarize_frames(self.tables, list(self.tables))
        json.dumps(found, allow_nan=False)
        self.assertEqual([one["name"] for one in found], list(self.tables))
        for one in found:
            with self.subTest(one["name"]):
                self.assertEqual((one["rows"], one["columnCount"]), (3, 3))
                self.assertEqual([column["name"] for column in one["columns"]], ["a", "b", "c"])
                self.assertEqual(one["preview"], [[1, "x", 0.5], [2, "y", 1.5], [None, "z", 2.5]])
                self.assertTrue(all(column["dtype"] for column in one["columns"]))
        self.assertEqual([column["missing"] for column in found[0]["columns"]], [1, 0, 0])
        self.assertEqual([column["missing"] for column in found[1]["columns"]], [1, 0, 0])
        self.assertEqual([column["dtype"] for column in found[0]["columns"]], ["Int64", "String", "Float64"])
        self.assertEqual(found[0]["repr"], repr(self.tables["polars"]))

    def test_each_is_encoded_as_columns(self) -> None:
        for name, table in self.tables.items():
            with self.subTest(name):
                self.assertEqual(json.loads(encode_value(table)), CONTENT)

    def test_dates_are_text_and_a_long_table_is_cut(self) -> None:
        table = pl.DataFrame({"day": [date(2024, 1, 2)] * 50, "span": [timedelta(days=1)] * 50})
        self.assertEqual(json.loads(encode_value(table.head(1))), {"day": ["2024-01-02"], "span": ["P1DT0H0M0S"]})
        cut = json.loads(encode_value(table, max_items=60))
        self.assertEqual((cut["_type"], cut["shape"]), ("truncated", [50, 2]))
        self.assertLess(len(cut["value"]["day"]), 50)

    def test_columns_are_lists(self) -> None:
        for column in (pl.Series("n", [1, None]), pa.chunked_array([[1], [None]]), pa.array([1, None])):
            self.assertEqual(json.loads(encode_value(column)), [1, None])

    def test_each_is_exported(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            for name in self.tables:
                for form in ("csv", "parquet"):
                    path = os.path.join(directory, f"{name}.{form}")
                    self.assertIsNone(export_frame(self.tables, name, path, form), (name, form))
                    read = pl.read_csv(path) if form == "csv" else pl.read_parquet(path)
                    self.assertEqual(read.to_dict(as_series=False), CONTENT)

    def test_what_is_no_table_is_refused_with_the_tables_that_there_are(self) -> None:
        problem = export_frame({**self.tables, "n": 1}, "n", "/nowhere/n.csv", "csv")
        self.assertIn("There are: polars, arrow, batch, relation.", problem or "")

    def test_a_derived_class_is_not_read(self) -> None:
        derived = type("Derived", (pl.DataFrame,), {"to_series": lambda *_: 1 / 0})(CONTENT)
        self.assertEqual(summarize_frames({"df": derived}, ["df"]), [])


if __name__ == "__main__":
    unittest.main()
