"""Tests of noticing changes of variables and describing them."""

import json
import math
import sys
import time
import types
import unittest
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

from _vivarium.ledger.describe import inspect_variables
from _vivarium.ledger.ledger import Ledger
from _vivarium.ledger.scope import Found

try:
    import numpy
    import pandas
except ImportError:
    numpy = pandas = None


class Plain:
    """An object with attributes."""

    def __init__(self) -> None:
        self.number = 1
        self.items = [1, 2]


class Evil:
    """An object whose every method fails."""

    def __init__(self) -> None:
        object.__setattr__(self, "number", 1)

    def _fail(self, *_: object) -> object:
        raise SystemExit("looked at")

    __eq__ = __hash__ = __len__ = __iter__ = __bool__ = __repr__ = __str__ = __sizeof__ = __getattr__ = _fail  # type: ignore
    __getattribute__ = __class__ = __reduce__ = __getitem__ = __format__ = __contains__ = _fail  # type: ignore


class Meta(type):
    __eq__ = __hash__ = __getattribute__ = lambda *_: 1 / 0  # type: ignore


def changed(value: object, change: object) -> list[str]:
    """Return the changes that a ledger sees when `change` is applied to `value`."""
    ledger = Ledger()
    ledger.changes({"x": value})
    assert ledger.changes({"x": value}) == {"added": [], "changed": [], "removed": []}, "changed by itself"
    change(value)  # type: ignore[operator]
    return ledger.changes({"x": value})["changed"]  # type: ignore[return-value]


class Changes(unittest.TestCase):
    def test_functions_and_classes_of_other_modules_are_not_added(self) -> None:
        def own() -> None:
            pass

        own.__module__ = "__main__"
        mine = type("Mine", (), {"__module__": "__main__"})
        space: dict[str, object] = {"own": own, "Mine": mine, "dumps": json.dumps, "sqrt": math.sqrt, "deque": deque}
        imported = {"counter": Counter(), "Liar": Meta("Liar", (), {"__module__": "__main__"}), "pi": math.pi}
        self.assertEqual(Ledger().changes({**space, **imported})["added"], ["Liar", "Mine", "counter", "own", "pi"])

    def test_modules_with_a_class_of_their_own_are_not_added(self) -> None:
        lazy = type("Lazy", (types.ModuleType,), {"__getattribute__": Evil._fail})
        self.assertEqual(Ledger().changes({"lazy": lazy("lazy"), "x": 1})["added"], ["x"])

    @unittest.skipIf(numpy is None, "needs numpy")
    def test_functions_of_numpy_are_not_added(self) -> None:
        space = {"sin": numpy.sin, "mean": numpy.mean, "line": numpy.poly1d([1, 2]), "array": numpy.array}
        self.assertEqual(Ledger().changes(space)["added"], ["line"])

    def test_a_variable_that_becomes_a_function_of_a_library_has_changed(self) -> None:
        ledger = Ledger()
        ledger.changes({"f": 1})
        self.assertEqual(ledger.changes({"f": math.sqrt})["changed"], ["f"])

    def test_added_changed_and_removed_names_are_listed(self) -> None:
        ledger = Ledger({"helper": print})
        space: dict[str, object] = {"b": 1, "a": "x", "_hidden": 1, "math": math, "helper": print, "gone": 1}
        self.assertEqual(ledger.changes(space), {"added": ["a", "b", "gone"], "changed": [], "removed": []})
        space["b"] = 2
        del space["gone"]
        space["helper"] = 5
        self.assertEqual(ledger.changes(space), {"added": ["helper"], "changed": ["b"], "removed": ["gone"]})

    def test_rebinding_is_a_change(self) -> None:
        pairs = [
            (1, 2),
            (-1, -2),
            (1, True),
            (1, 1.0),
            ("a", "b"),
            (None, 0),
            (10**30, 10**31),
            ("x" * 100, "y" * 100),
            ([], []),
            (b"a", b"b"),
            (Plain, Meta),
        ]
        for old, new in pairs:
            with self.subTest(f"{old!r} {new!r}"):
                ledger = Ledger()
                ledger.changes({"x": old})
                self.assertEqual(ledger.changes({"x": new})["changed"], ["x"])

    def test_equal_values_are_not_a_change(self) -> None:
        ledger = Ledger()
        ledger.changes({"x": float("nan"), "y": "".join(["a", "b"]), "z": 5.5})
        self.assertEqual(ledger.changes({"x": float("nan"), "y": "".join(["a", "b"]), "z": 11 / 2})["changed"], [])

    def test_changes_in_place_are_noticed(self) -> None:
        cases = [
            ([1, 2], lambda v: v.append(3)),
            ([1, 2], lambda v: v.__setitem__(0, 5)),
            ([[1], [2]], lambda v: v[0].append(5)),
            ([[1], [2]], lambda v: v[0].__setitem__(0, 5)),
            ({"a": 1}, lambda v: v.update(a=2)),
            ({"a": {"b": 1}}, lambda v: v["a"].update(b=2)),
            ({"a": [1, 2]}, lambda v: v["a"].reverse()),
            ({1, 2}, lambda v: v.add(3)),
            (bytearray(b"abc"), lambda v: v.__setitem__(0, 120)),
            (bytearray(3 << 20), lambda v: v.__setitem__(0, 120)),
            (deque([1]), lambda v: v.append(1)),
            (deque([1, 2]), lambda v: v.rotate()),
            (Counter("aa"), lambda v: v.update("a")),
            (defaultdict(list, a=[1]), lambda v: v["b"]),
            (OrderedDict(a=1, b=2), lambda v: v.__setitem__("a", 7)),
            (Plain(), lambda v: setattr(v, "number", 2)),
            (Plain(), lambda v: setattr(v, "new", 2)),
            (Plain(), lambda v: v.items.append(2)),
            (list(range(10**6)), lambda v: v.append(1)),
            (list(range(10**6)), lambda v: v.__setitem__(0, 99)),
            (list(range(10**6)), lambda v: v.__setitem__(-1, 99)),
            (dict.fromkeys(range(10**6)), lambda v: v.__setitem__(999_999, 1)),
            (Evil(), lambda v: object.__setattr__(v, "number", 2)),
        ]
        for number, (value, change) in enumerate(cases):
            with self.subTest(number, kind=type(value).__name__):
                self.assertEqual(changed(value, change), ["x"])

    def test_many_names_are_counted(self) -> None:
        found = Ledger().changes({f"v{number:05}": number for number in range(300)})
        self.assertEqual((len(found["added"]), found["omitted"]), (200, 100))

    def test_hostile_objects_are_never_called(self) -> None:
        kind = Meta("Kind", (), {"__module__": "__main__"})
        evil = [Evil(), kind(), kind, type("L", (list,), {"__len__": Evil._fail, "__iter__": Evil._fail})([1])]
        property_dict = type("P", (), {"__dict__": property(Evil._fail)})()
        space = {
            "a": evil,
            "b": {"x": evil[0]},
            "c": evil[0],
            "d": evil[1],
            "e": kind,
            "f": evil[3],
            "g": property_dict,
            5: 1,
            "h": (Evil(),),
        }
        ledger = Ledger()
        self.assertEqual(len(ledger.changes(space)["added"]), 8)
        self.assertEqual(ledger.changes(space)["changed"], [])
        self.assertEqual(
            [found["type"] for found in inspect_variables(space)],
            ["list", "dict", "Evil", "Kind", "Meta", "L", "P", "tuple"],
        )

    def test_hostile_modules_are_never_called(self) -> None:
        real = {name: sys.modules.get(name) for name in ("numpy", "pandas")}
        try:
            for fake in (Evil(), None, 5):
                sys.modules["numpy"] = sys.modules["pandas"] = fake  # type: ignore[assignment]
                self.assertEqual(Ledger().changes({"x": Plain()})["added"], ["x"])
        finally:
            for name, module in real.items():
                sys.modules.pop(name)
                if module is not None:
                    sys.modules[name] = module

    def test_cycles_and_deep_nests_end(self) -> None:
        loop: list[object] = []
        loop.append(loop)
        wide = [[[0] * 1000 for _ in range(1000)] for _ in range(3)]
        ledger = Ledger()
        started = time.thread_time()
        ledger.changes({"loop": loop, "wide": wide})
        self.assertLess(time.thread_time() - started, 0.2)
        self.assertEqual(ledger.changes({"loop": loop, "wide": wide})["changed"], [])


class Described(unittest.TestCase):
    def test_variables_are_described(self) -> None:
        def add(a: int, b: int) -> int:
            return a + b

        space = {
            "n": 5,
            "s": "a\nb",
            "items": [1, 2, 3],
            "f": add,
            "C": Plain,
            "o": Plain(),
            "_x": 1,
            "math": math,
            "t": "x" * 1000,
        }
        found = {one["name"]: one for one in inspect_variables(space)}
        self.assertEqual(sorted(found), ["C", "f", "items", "n", "o", "s", "t"])
        self.assertEqual(
            found["items"],
            {"name": "items", "type": "list", "description": "list of 3", "sizeBytes": sys.getsizeof([1, 2, 3])},
        )
        self.assertEqual(found["n"]["description"], "5")
        self.assertEqual(found["s"]["description"], r"'a\nb'")
        self.assertEqual(found["f"]["description"], "function add")
        self.assertEqual(found["C"]["description"], "class Plain")
        self.assertEqual(found["o"]["description"], "Plain object")
        self.assertEqual(len(found["t"]["description"]), 200)

    def test_variables_that_are_not_described_are_counted(self) -> None:
        found = inspect_variables({f"v{number}": number for number in range(7_000)})
        self.assertEqual((len(found), found[0]["name"]), (5_001, "v2000"))
        self.assertEqual(found[-1]["description"], "2000 older variables are not listed")

    def test_long_names_are_told_as_far_as_a_message_has_room(self) -> None:
        names = {f"{number:04}" + "\U00020000" * 300: number for number in range(1_000)}
        listed = inspect_variables(names)
        self.assertLess(len(json.dumps(listed)), 1 << 20)
        self.assertEqual(listed[-1]["description"], f"{1_001 - len(listed)} older variables are not listed")
        found = Found()
        found.added, found.changed = list(names), list(names)
        told: Any = found.told()
        self.assertLess(len(json.dumps(told)), 300_000)
        self.assertEqual(len(told["added"]) + len(told["changed"]) + told["omitted"], 2_000)


@unittest.skipIf(numpy is None or pandas is None, "numpy and pandas are not installed")
class Tables(unittest.TestCase):
    def test_changes_of_arrays_are_noticed(self) -> None:
        def first(value: object) -> None:
            value[(0,) * value.ndim] = 7  # type: ignore

        shapes = [(3, 4), (0, 4), (1000, 1000), (5, 1000, 1000), ()]
        for shape in shapes:
            for order in "CF":
                with self.subTest(shape=shape, order=order):
                    array = numpy.zeros(shape, order=order)
                    self.assertEqual(
                        changed(array, first if array.size else lambda v: v.resize(5, refcheck=False)), ["x"]
                    )
        self.assertEqual(changed(numpy.zeros((2000, 2000))[::2, ::2], first), ["x"])
        self.assertEqual(changed(numpy.array([1, "a", None], dtype=object), first), ["x"])
        self.assertEqual(
            changed(
                numpy.array(["2020-01-01"], dtype="M8[D]"), lambda v: v.__setitem__(0, numpy.datetime64("2021-01-01"))
            ),
            ["x"],
        )
        self.assertEqual(
            changed(numpy.zeros(3, dtype=[("a", "i4"), ("b", "f8")]), lambda v: v["a"].__setitem__(0, 1)), ["x"]
        )

    def frame(self) -> object:
        return pandas.DataFrame(
            {
                "date": pandas.date_range("2024-01-01", periods=30),
                "sales": numpy.arange(30.0),
                "region": ["n", "s", None] * 10,
            }
        )

    def test_changes_of_tables_are_noticed(self) -> None:
        cases = [
            lambda v: v.__setitem__("new", 1),
            lambda v: v.loc.__setitem__((5, "sales"), -1.0),
            lambda v: v.loc.__setitem__((5, "region"), "west"),
            lambda v: v.drop(index=3, inplace=True),
            lambda v: v.rename(columns={"sales": "s"}, inplace=True),
            lambda v: v.sort_values("sales", ascending=False, inplace=True),
            lambda v: v.loc.__setitem__((5, "date"), pandas.Timestamp("2000-01-01")),
        ]
        for number, change in enumerate(cases):
            with self.subTest(number):
                self.assertEqual(changed(self.frame(), change), ["x"])

    def test_changes_of_series_and_indexes_are_noticed(self) -> None:
        self.assertEqual(changed(pandas.Series([1, 2, float("nan")]), lambda v: v.__setitem__(0, 5)), ["x"])
        self.assertEqual(changed(pandas.Series(["a", "b"], dtype="category"), lambda v: v.__setitem__(0, "b")), ["x"])
        self.assertEqual(changed(pandas.Series(["a", None], dtype="string"), lambda v: v.__setitem__(0, "b")), ["x"])
        zoned = pandas.Series(pandas.date_range("2024", periods=3, tz="UTC"))
        self.assertEqual(changed(zoned, lambda v: v.__setitem__(0, v[1])), ["x"])
        for index in (
            pandas.Index([1, 2]),
            pandas.MultiIndex.from_product([[1, 2], ["a", "b"]]),
            pandas.date_range("2024", periods=3),
        ):
            self.assertEqual(changed(index, lambda v: v.tolist()), [])
        self.assertEqual(changed(pandas.DataFrame(), lambda v: v.__setitem__("a", [1])), ["x"])
        rude = type("Rude", (), dict.fromkeys(("__eq__", "__hash__", "__repr__", "__str__", "__bool__"), Evil._fail))
        self.assertEqual(changed(pandas.DataFrame({"o": [rude(), rude()]}), lambda v: v.__setitem__("a", 1)), ["x"])

    def test_arrays_and_tables_are_described(self) -> None:
        space = {
            "a": numpy.zeros((3, 4)),
            "d": self.frame(),
            "s": pandas.Series([1.5], name="price"),
            "i": pandas.Index([1, 2]),
        }
        found = {one["name"]: one for one in inspect_variables(space)}
        self.assertEqual((found["a"]["description"], found["a"]["sizeBytes"]), ("ndarray float64 (3, 4)", 96))
        self.assertEqual(found["d"]["description"], "DataFrame 30 rows x 3 columns: date, sales, region")
        self.assertEqual(found["s"]["description"], "Series float64 of 1: price")
        self.assertEqual(found["i"]["description"], "Index int64 of 2")
        self.assertGreater(found["d"]["sizeBytes"], 700)

    def test_large_data_takes_bounded_time(self) -> None:
        space = {
            "array": numpy.random.rand(5_000, 2_000),
            "frame": pandas.DataFrame(numpy.random.rand(500_000, 10)).assign(text="x"),
            "list": list(range(1_000_000)),
        }
        ledger = Ledger()
        ledger.changes(space)
        times = []
        for _ in range(5):
            started = time.thread_time()
            ledger.changes(space)
            times.append(time.thread_time() - started)
        print(f"big data: {min(times) * 1e3:.2f} ms", file=sys.stderr)
        self.assertLess(min(times), 0.05)


class Speed(unittest.TestCase):
    def test_many_small_variables_are_quick(self) -> None:
        space = {f"v{number}": [1, "text", 2.5, [1, 2], {"a": 1}][number % 5] for number in range(20)}
        ledger = Ledger()
        ledger.changes(space)
        started = time.thread_time()
        for _ in range(200):
            ledger.changes(space)
        each = (time.thread_time() - started) / 200
        print(f"20 small variables: {each * 1e6:.0f} us", file=sys.stderr)
        self.assertLess(each, 0.001)


if __name__ == "__main__":
    unittest.main()
