"""Tests of noticing changes of tables of polars, and of describing those of pyarrow and DuckDB."""

import os
import subprocess
import sys
import unittest
from typing import Any

from _vivarium.ledger.describe import inspect_variables
from _vivarium.ledger.ledger import Ledger

try:
    import duckdb
    import polars as pl
    import pyarrow as pa
except ImportError:
    duckdb = pl = pa = None  # type: ignore[assignment]

CONTENT = {"a": [1, 2, None], "b": ["x", "y", "z"], "c": [0.5, 1.5, 2.5]}
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


@unittest.skipIf(pl is None, "polars, pyarrow and duckdb are not installed")
class Changes(unittest.TestCase):
    def test_changes_of_a_table_of_polars_are_noticed(self) -> None:
        def replaced(table: Any) -> None:
            table.replace_column(0, pl.Series("z", [7, 8, 9]))

        changes = {
            "a cell of numbers": lambda table: table.__setitem__((1, "c"), 9.0),
            "a cell of text": lambda table: table.__setitem__((1, "b"), "changed"),
            "a cell with gaps": lambda table: table.__setitem__((0, "a"), 9),
            "a name": lambda table: setattr(table, "columns", ["x", "y", "z"]),
            "a column": replaced,
            "nothing": lambda table: table.head(1),
        }
        for what, change in changes.items():
            with self.subTest(what):
                table = pl.DataFrame(CONTENT)
                ledger = Ledger()
                ledger.changes({"df": table})
                self.assertEqual(ledger.changes({"df": table})["changed"], [], "changed by itself")
                change(table)
                self.assertEqual(ledger.changes({"df": table})["changed"], [] if what == "nothing" else ["df"])

    def test_looking_at_a_table_starts_no_thread(self) -> None:
        code = (
            "import os, numpy, polars as pl\n"
            "from _vivarium.ledger.marks import Mark\n"
            "from _vivarium.ledger.describe import inspect_variables\n"
            "table = pl.DataFrame({'a': range(1000), 'b': ['x'] * 1000, 'c': [None, 1] * 500})\n"
            "before = len(os.listdir('/proc/self/task'))\n"
            "Mark(table); inspect_variables({'table': table})\n"
            "assert len(os.listdir('/proc/self/task')) == before\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)

    def test_variables_are_described(self) -> None:
        table = pl.DataFrame(CONTENT)
        space = {"polars": table, "arrow": pa.table(CONTENT), "relation": duckdb.sql("select 1 a, 2 b, 3 c")}
        space |= {"lazy": table.lazy(), "column": table["a"]}
        told = {one["name"]: one["description"] for one in inspect_variables(space)}
        self.assertEqual(told["polars"], "polars.DataFrame 3 rows x 3 columns: a, b, c")
        self.assertEqual(told["arrow"], "pyarrow.Table 3 rows x 3 columns: a, b, c")
        self.assertEqual(told["relation"], "DuckDB relation, 3 columns: a, b, c")
        self.assertEqual(told["lazy"], "polars.LazyFrame, not computed yet")
        self.assertEqual(told["column"], "polars.Series Int64 of 3: a")


if __name__ == "__main__":
    unittest.main()
