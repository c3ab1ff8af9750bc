"""Tests of the proof that a cell only looks."""

import ast
import builtins
import types
import unittest

from _vivarium.ledger.looks import only_looks

try:
    import numpy
    import pandas
except ImportError:
    numpy = pandas = None

SETUP = """
from collections import Counter, OrderedDict, defaultdict
n, s, t, l, d = 5, "text", (1, 2), [1, [2, {"a": 3}]], {"a": 1, 2: [3]}
import math
calls = []
class Plain:
    kind = "plain"
    def __init__(self): self.a = 1; self.other = [1, 2]
    def method(self): calls.append(1)
class Slots:
    __slots__ = ("a",)
class Property:
    @property
    def a(self): calls.append(1)
class Hook:
    def __getattr__(self, name): calls.append(1); return 1
class Hooks:
    def __getattribute__(self, name): calls.append(1); return 1
class Operator:
    def __add__(self, other): calls.append(1)
    __radd__ = __eq__ = __lt__ = __contains__ = __getitem__ = __add__
    def __bool__(self): calls.append(1); return True
    def __hash__(self): return hash("key")
    def __index__(self): calls.append(1); return 0
    def __format__(self, spec): calls.append(1); return ""
class Shown:
    def __repr__(self): calls.append(1); return "shown"
class Html:
    def _repr_html_(self): calls.append(1); return "shown"
class Meta(type):
    def __repr__(cls): calls.append(1); return "shown"
class WithMeta(metaclass=Meta): pass
class Items(list):
    def __getitem__(self, key): calls.append(1)
class Descriptor:
    def __get__(self, *_): calls.append(1)
class Described: a = Descriptor()
plain, slots, prop, hook, hooks, op, shown, html = Plain(), Slots(), Property(), Hook(), Hooks(), Operator(), Shown(), Html()
slots.a = 7
described, items, missing, counter = Described(), Items([1]), defaultdict(list), Counter()
holder, keyed, nested = [shown], {op: 1}, [[[html]]]
deep = []
for _ in range(50): deep = [deep]
def function(): calls.append(1)
"""
LOOKS = (
    *("", "1 + 1", "n", "s", "t[0]", "l", "l[1][1]['a']", "d['a'] + d[2][0]", "-n < 3 and s", "f'{n!r:>{n}} {s}'"),
    *(
        "[n, {s: t}, (1,)]",
        "{**d}",
        "s[1:3]",
        "l[:1]",
        "not n",
        "n in t",
        "nowhere",
        "d['gone']",
        "t[9]",
        "math.pi * n",
    ),
    *("plain", "plain.a + 1", "plain.other[0]", "plain.kind", "slots.a", "Plain", "function", "math", "n\ns", "1 / 0"),
    *("op is None", "None is not shown", "s.upper", "len", "n.real", "plain.none", "n if 0 else 1"[:1]),
)
EFFECTS = (
    *("function()", "x = 1", "await n", "(x := 1)", "[a for a in t]", "del n", "import os", "lambda: 1", "n; x = 1"),
    *("prop.a", "prop.a.b", "hook.a", "hooks.a", "described.a", "op + 1", "1 + op", "op == 1", "op < 1", "1 in op"),
    *("op[0]", "not op", "op and 1", "l[op]", "d[op]", "keyed['key']", "f'{op}'", "f'{shown}'", "[op]", "{op: 1}"),
    *("shown", "html", "holder", "nested", "WithMeta", "[shown][0]", "(shown, 1)", "items[0]", "missing['new']"),
    *("missing[1][2]", "counter['a']", "deep", "plain.method", "holder[0]", "l == holder", "plain + 1"),
)


def namespace(setup: str = SETUP) -> dict[str, object]:
    """Return a namespace in which this code was run."""
    space: dict[str, object] = {"__name__": "__main__"}
    exec(setup, space)
    return space


class Proof(unittest.TestCase):
    def test_cells_without_effects_are_recognised(self) -> None:
        space = namespace()
        for code in LOOKS:
            with self.subTest(code):
                self.assertTrue(only_looks(ast.parse(code), space))
        self.assertEqual(space["calls"], [])

    def test_cells_that_may_have_effects_are_not_believed(self) -> None:
        space = namespace()
        for code in EFFECTS:
            with self.subTest(code):
                tree = compile(code, "<c>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
                self.assertFalse(only_looks(tree, space))
        self.assertEqual(space["calls"], [])

    def test_large_values_take_bounded_time(self) -> None:
        space = {"big": list(range(10**6)), "wide": {str(number): number for number in range(10**6)}}
        for code in ("big", "wide", "wide['1']"):
            self.assertFalse(only_looks(ast.parse(code), space))  # type: ignore[arg-type]
        self.assertTrue(only_looks(ast.parse("big[5]"), space))  # type: ignore[arg-type]

    def test_a_program_that_replaces_print_is_not_believed(self) -> None:
        original = builtins.print
        try:
            builtins.print = lambda *_: None  # type: ignore[assignment]
            self.assertFalse(only_looks(ast.parse("1 + 1"), {}))
        finally:
            builtins.print = original

    def test_a_module_with_a_hook_is_not_believed(self) -> None:
        module = types.ModuleType("lazy")
        module.there = 1  # type: ignore[attr-defined]
        module.__getattr__ = lambda name: 1  # type: ignore[method-assign]
        self.assertTrue(only_looks(ast.parse("lazy.there"), {"lazy": module}))
        self.assertFalse(only_looks(ast.parse("lazy.gone"), {"lazy": module}))


@unittest.skipIf(numpy is None or pandas is None, "numpy and pandas are not installed")
class Data(unittest.TestCase):
    SETUP = """
import numpy as np, pandas as pd
a = np.arange(6.0).reshape(2, 3)
df = pd.DataFrame({"x": [1.5, 2], "name": ["a", "b"], "when": pd.date_range("2024", periods=2), "c": pd.Categorical(["u", "v"])})
calls = []
class Rude:
    def __repr__(self): calls.append(1); return "rude"
    __add__ = __eq__ = lambda *_: calls.append(1)
    def __hash__(self): return 1
rude = pd.DataFrame({"o": [Rude(), Rude()]})
labels = pd.DataFrame({Rude(): [1]})
objects = np.array([Rude(), 1], dtype=object)
texts = np.array(["a", None], dtype=object)
class Sub(pd.DataFrame):
    def __repr__(self): calls.append(1); return "sub"
sub = Sub({"x": [1]})
"""

    def test_arrays_and_tables_are_looked_at(self) -> None:
        space = namespace(self.SETUP)
        for code in (
            *("a", "a[0, 1:]", "a + 1", "a.T.shape", "a > 2", "a[a > 2]", "df", "df.x", "df['x'] * 2", "df[df.x > 1]"),
            *("df.loc[0, 'name']", "df.shape", "df.dtypes", "df.columns", "df[['x', 'name']]", "df.iloc[0]", "texts"),
            *("np.pi", "a.dtype", "a[0, 0] + df.x[0]", "df.index[0]", "df.gone"),
        ):
            with self.subTest(code):
                self.assertTrue(only_looks(ast.parse(code), space))
        for code in ("rude", "rude.o", "rude['o'] + 1", "labels", "objects", "objects + 1", "sub", "sub.x", "df.sum"):
            with self.subTest(code):
                self.assertFalse(only_looks(ast.parse(code), space))
        self.assertEqual(space["calls"], [])

    def test_functions_of_the_program_that_print_numbers_are_noticed(self) -> None:
        space = namespace(self.SETUP)
        pandas.set_option("display.float_format", lambda value: "x")
        try:
            self.assertFalse(only_looks(ast.parse("df"), space))
        finally:
            pandas.reset_option("display.float_format")
        numpy.set_printoptions(formatter={"float": lambda value: "x"})
        try:
            self.assertFalse(only_looks(ast.parse("a"), space))
        finally:
            numpy.set_printoptions(formatter=None)
        original = pandas.DataFrame._repr_html_
        try:
            exec("pd.DataFrame._repr_html_ = lambda self: calls.append(1)", space)
            self.assertFalse(only_looks(ast.parse("df"), space))
        finally:
            pandas.DataFrame._repr_html_ = original
        self.assertTrue(only_looks(ast.parse("df"), space))


if __name__ == "__main__":
    unittest.main()
