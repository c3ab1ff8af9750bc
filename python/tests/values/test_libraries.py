"""Tests of turning values of numpy and pandas into JSON, and of the encoder without them."""

import os
import sys
import time
import unittest
from decimal import Decimal

from _vivarium.values.encode import encode_value

from tests.values.encoded import parse

try:
    import numpy as np
    import pandas as pd
except ImportError:
    np = pd = None  # type: ignore[assignment]

NAN = {"_type": "float", "value": "NaN"}


def tag(kind: str, **fields: object) -> dict[str, object]:
    return {"_type": kind, **fields}


def numpy_values() -> "list[tuple[object, object]]":
    record = np.array([(1, 2.5)], dtype=[("a", "<i4"), ("b", "<f8")])
    return [
        (np.int8(-1), -1),
        (np.uint64(2**64 - 1), tag("int", value=str(2**64 - 1))),
        (np.float64(1.5), 1.5),
        (np.float16(0.5), 0.5),
        (np.float32(0.1), 0.10000000149011612),
        (np.float32("nan"), NAN),
        (np.bool_(True), True),
        (np.str_("s"), "s"),
        (np.bytes_(b"x"), tag("bytes", value="eA==")),
        (np.complex64(1 + 2j), tag("complex", real=1.0, imag=2.0)),
        (np.longdouble("0.5"), tag("longdouble", value="0.5")),
        (np.datetime64("2024-01-02T03:04"), tag("datetime64", value="2024-01-02T03:04", unit="m")),
        (np.datetime64("NaT", "s"), tag("datetime64", value=None, unit="s")),
        (np.timedelta64(5, "s"), tag("timedelta64", value=5, unit="s")),
        (record[0], {"a": 1, "b": 2.5}),
        ({np.str_("k"): np.int64(1)}, {"k": 1}),
        ({np.int64(1): 2}, tag("dict", items=[[1, 2]])),
        (np.array(5), 5),
        (np.array([]), []),
        (np.arange(6).reshape(2, 3), [[0, 1, 2], [3, 4, 5]]),
        (np.arange(6)[::-2], [5, 3, 1]),
        (np.array([1.0, np.nan]), [1.0, NAN]),
        (np.array([True, False]), [True, False]),
        (np.array(["a", "ü"]), ["a", "ü"]),
        (np.array([b"x"]), [tag("bytes", value="eA==")]),
        (np.array([1j]), tag("ndarray", dtype="complex128", shape=[1], value=[tag("complex", real=0.0, imag=1.0)])),
        (
            np.array(["2024-01-01", "NaT"], "M8[D]"),
            tag("ndarray", dtype="datetime64[D]", shape=[2], value=["2024-01-01", None]),
        ),
        (np.array([1, "NaT"], "m8[s]"), tag("ndarray", dtype="timedelta64[s]", shape=[2], value=[1, None])),
        (record, tag("ndarray", dtype="[('a', '<i4'), ('b', '<f8')]", shape=[1], value=[{"a": 1, "b": 2.5}])),
        (np.array([None, {1}], object), tag("ndarray", dtype="object", shape=[2], value=[None, tag("set", items=[1])])),
        (np.ma.array([1, 2], mask=[False, True]), [1, None]),
        (np.arange(2).view(np.recarray), [0, 1]),
        (np.rec.array([(1,)], dtype=[("a", "<i8")])[0], {"a": 1}),
    ]


def pandas_values() -> "list[tuple[object, object]]":
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, np.nan], "c": ["x", None], "d": pd.to_datetime(["2024-01-01", None])})
    grouped = pd.DataFrame({"k": ["p", "q"], "v": [1, 2]}).groupby("k").sum()
    return [
        (pd.Timestamp("2024-01-01 12:00"), tag("datetime", value="2024-01-01T12:00:00")),
        (pd.Timestamp("2024-01-01", tz="UTC").floor("D"), tag("datetime", value="2024-01-01T00:00:00+00:00")),
        (pd.Timestamp(1), tag("datetime", value="1970-01-01T00:00:00.000000001")),
        (pd.Timedelta("1D 2h"), tag("timedelta", value="P1DT2H0M0S")),
        (pd.Timedelta(-1), tag("timedelta", value="-P0DT0H0M0.000000001S")),
        (pd.NaT, tag("missing", value="NaT")),
        (pd.NA, tag("missing", value="NA")),
        (pd.Interval(0, 1), tag("interval", left=0, right=1, closed="right")),
        (pd.Period("2024-01", "M"), tag("period", value="2024-01", freq="M")),
        (
            pd.Categorical(["a", None], categories=["a", "b"]),
            tag("categorical", categories=["a", "b"], ordered=False, value=["a", None]),
        ),
        (pd.array([1, None], dtype="Int64"), [1, None]),
        (pd.Index([1, 2]), [1, 2]),
        (pd.RangeIndex(3), [0, 1, 2]),
        (pd.date_range("2024-01-01", periods=2), ["2024-01-01T00:00:00", "2024-01-02T00:00:00"]),
        (pd.MultiIndex.from_tuples([(1, "a")]), [[1, "a"]]),
        (pd.Series([1, 2]), [1, 2]),
        (pd.Series([1.5, None, float("inf")]), [1.5, None, tag("float", value="Infinity")]),
        (pd.Series(["a", None]), ["a", None]),
        (pd.Series([True, None]), [True, None]),
        (pd.Series([pd.Timedelta("1s"), pd.NaT]), ["P0DT0H0M1S", None]),
        (pd.Series(["a"], dtype="category"), ["a"]),
        (pd.Series([Decimal("1.5"), [1]]), [tag("decimal", value="1.5"), [1]]),
        (pd.Series([1, 2], index=["x", "y"], name="n"), tag("Series", name="n", index=["x", "y"], value=[1, 2])),
        (frame, {"a": [1, 2], "b": [0.5, None], "c": ["x", None], "d": ["2024-01-01T00:00:00", None]}),
        (frame[frame.a > 1][["a"]], {"a": [2]}),
        (grouped, tag("DataFrame", index=["p", "q"], value={"v": [1, 2]})),
        (pd.DataFrame(), {}),
        (pd.DataFrame([[1, 2]]), tag("dict", items=[[0, [1]], [1, [2]]])),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), tag("dict", items=[["a", [1]], ["a", [2]]])),
        (pd.DataFrame({("a", "b"): [1]}), tag("dict", items=[[["a", "b"], [1]]])),
        (frame[["a"]].describe().to_dict()["a"]["max"], 2.0),
        (frame[["a"]].to_dict(), {"a": tag("dict", items=[[0, 1], [1, 2]])}),
    ]


@unittest.skipIf(np is None, "numpy and pandas are not installed")
class Libraries(unittest.TestCase):
    def test_values_of_numpy_are_encoded(self) -> None:
        self._check(numpy_values())

    def test_values_of_pandas_are_encoded(self) -> None:
        self._check(pandas_values())

    def _check(self, table: "list[tuple[object, object]]") -> None:
        for value, expected in table:
            with self.subTest(f"{type(value).__name__} {value!r:.60}"):
                self.assertEqual(parse(encode_value(value)), expected)

    def test_tagged_scalars_come_back_equal(self) -> None:
        ways = {
            "datetime64": lambda it: np.datetime64(it["value"] or "NaT", it["unit"]),
            "timedelta64": lambda it: np.timedelta64("NaT" if it["value"] is None else it["value"], it["unit"]),
            "longdouble": lambda it: np.longdouble(it["value"]),
            "datetime": lambda it: pd.Timestamp(it["value"], **({"tz": it["zone"]} if "zone" in it else {})),
            "timedelta": lambda it: pd.Timedelta(it["value"].lstrip("-")) * (-1 if it["value"][0] == "-" else 1),
            "interval": lambda it: pd.Interval(it["left"], it["right"], it["closed"]),
            "period": lambda it: pd.Period(it["value"], it["freq"]),
            "categorical": lambda it: pd.Categorical(it["value"], it["categories"], it["ordered"]),
            "missing": lambda it: getattr(pd, it["value"]),
        }
        seen = set()
        more = [
            np.datetime64("2024", "25s"),
            np.longdouble(1) / 3,
            pd.Timestamp(1, tz="Europe/Berlin"),
            pd.Timedelta(-(10**15) - 1),
        ]
        for value in [*more, *(value for value, _ in numpy_values() + pandas_values())]:
            parsed = parse(encode_value(value))
            if isinstance(parsed, dict) and parsed.get("_type") in ways:
                with self.subTest(repr(value)):
                    seen.add(parsed["_type"])
                    back = ways[parsed["_type"]](parsed)
                    self.assertEqual((type(back), repr(back)), (type(value), repr(value)))
        self.assertEqual(seen, set(ways))

    def test_large_tables_and_arrays_say_what_is_missing(self) -> None:
        parsed = parse(encode_value(np.zeros((100, 50)), max_items=200))
        self.assertEqual((parsed["type"], parsed["shape"], parsed["shown"]), ("ndarray", [100, 50], [3, 50]))
        self.assertEqual([len(row) for row in parsed["value"]], [50, 50, 50])
        parsed = parse(encode_value(pd.DataFrame({"a": range(1_000), "b": range(1_000)}), max_items=100))
        self.assertEqual((parsed["type"], parsed["shape"]), ("DataFrame", [1_000, 2]))
        self.assertEqual(len(parsed["value"]["a"]), parsed["shown"][0])
        self.assertEqual(len(parsed["value"]["b"]), parsed["shown"][0])
        parsed = parse(
            encode_value(pd.Series(range(1_000), name="x", index=[f"r{n}" for n in range(1_000)]), max_items=100)
        )
        self.assertEqual((parsed["type"], parsed["length"], len(parsed["index"])), ("Series", 1_000, parsed["shown"]))

    def test_huge_values_take_bounded_time(self) -> None:
        giants = [
            np.broadcast_to(np.float64(1), (10**12,)),
            np.empty((10**9, 0)),
            np.zeros((1,) * 30),
            np.zeros(3, dtype=[("x", "f8", (10**6,))]),
            np.array(["x" * 10**6] * 5),
            pd.DataFrame(np.broadcast_to(np.int8(1), (10**7, 3))),
            pd.DataFrame(np.zeros((1, 10**5))),
            pd.Series(["x" * 10**6] * 10),
            pd.RangeIndex(10**15),
            pd.DataFrame({"a": [["deep"] * 10**5] * 100}),
        ]
        for value in giants:
            with self.subTest(type(value)):
                start = time.process_time()
                text = encode_value(value)
                self.assertLess(time.process_time() - start, 5)
                self.assertLessEqual(len(text), 1_000_000)
                parse(text)

    def test_subclasses_are_read_without_running_their_code(self) -> None:
        def trap(*_: object, **__: object) -> object:
            raise SystemExit("code of the program ran")

        names = (
            "__getattribute__",
            "__array_finalize__",
            "__iter__",
            "__len__",
            "__getitem__",
            "tolist",
            "shape",
            "__repr__",
        )
        traps = dict.fromkeys(names, trap)
        array = np.arange(3).view(type("Arr", (np.ndarray,), {}))
        for name in names:
            setattr(type(array), name, trap)
        self.assertEqual(parse(encode_value(array)), [0, 1, 2])
        frame = type("Frame", (pd.DataFrame,), {**traps, "columns": property(trap), "_constructor": property(trap)})
        made = frame.__new__(frame)
        pd.DataFrame.__init__.__globals__["NDFrame"].__init__(made, pd.DataFrame({"a": [1]})._mgr)
        self.assertEqual(parse(encode_value(made)), {"a": [1]})
        empty = frame.__new__(frame)
        self.assertEqual(parse(encode_value(empty))["_type"], "object")

    def test_cycles_through_arrays_and_tables_are_marked(self) -> None:
        array = np.empty(2, object)
        array[0], array[1] = array, 1
        self.assertEqual(parse(encode_value(array))["value"], [tag("cycle"), 1])
        frame = pd.DataFrame({"a": [1, 2]}).astype(object)
        frame.iat[0, 0] = frame
        self.assertEqual(parse(encode_value(frame)), {"a": [tag("cycle"), 2]})

    def test_a_time_zone_of_the_program_is_not_called(self) -> None:
        from datetime import datetime, timedelta, tzinfo

        class Zone(tzinfo):
            def utcoffset(self, when: object) -> timedelta:
                return timedelta(hours=1)

            dst = utcoffset  # type: ignore[assignment]

        self.assertEqual(parse(encode_value(pd.Timestamp(datetime(2024, 1, 1, tzinfo=Zone()))))["_type"], "object")

    def test_an_array_class_of_the_program_runs_no_code(self) -> None:
        base = pd.api.extensions.ExtensionArray
        endless = {
            "__iter__": lambda self: iter(int, 1),
            "__len__": lambda self: 10**9,
            "__repr__": lambda self: "strange",
        }
        value = type("Strange", (base,), endless)()
        self.assertEqual(parse(encode_value(value))["repr"], "strange")


class Without(unittest.TestCase):
    def test_the_encoder_loads_no_library(self) -> None:
        import subprocess

        code = "import sys; from _vivarium.values.encode import encode_value; encode_value([1]); sys.exit('numpy' in sys.modules or 'pandas' in sys.modules)"
        self.assertEqual(
            subprocess.run(
                [sys.executable, "-B", "-c", code],
                cwd=os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                check=False,
            ).returncode,
            0,
        )

    def test_a_forged_library_is_not_trusted(self) -> None:
        import types
        from unittest import mock

        forged = types.ModuleType("numpy")
        forged.ndarray = forged.generic = object()  # type: ignore[attr-defined]
        with mock.patch.dict(sys.modules, {"numpy": forged, "pandas": forged}):
            self.assertEqual(encode_value([1]), "[1]")


if __name__ == "__main__":
    unittest.main()
