"""Tests of changes that are found by what the code of a run can reach."""

import functools
import sys
import time
import types
import unittest
import weakref

from _vivarium.ledger.ledger import Ledger

try:
    import numpy
    import pandas
except ImportError:
    numpy = pandas = None

OTHERS = {f"other{number}": [number] for number in range(50)}


class Session:
    """A namespace with a ledger, as a worker has them."""

    def __init__(self, setup: str = "") -> None:
        self.ledger = Ledger()
        self.space: dict[str, object] = {"__name__": "__main__", **{name: list(one) for name, one in OTHERS.items()}}
        self.own: frozenset[str] = frozenset()
        self.run("globals()")
        self.run(setup)

    def run(self, code: str) -> dict[str, object]:
        """Run code and return the changes."""
        compiled = compile(code, "<test>", "exec")
        self.ledger.begin(self.space, [compiled], self.own)
        try:
            exec(compiled, self.space)
        finally:
            found = self.ledger.end(self.space, self.own)
        return found

    def changed(self, code: str) -> object:
        """Run code and return the names of changed variables, making sure that there is nothing else to tell."""
        found = self.run(code)
        assert not found["added"] and not found["removed"] and "unseen" not in found, found
        return found["changed"]


# What is there, what a run does, and which variables that changes.
IN_PLACE = {
    "a list": ("x = [1]", "x.append(2)", ["x"]),
    "a list through an alias": ("x = [1]; y = x", "y.append(2)", ["x", "y"]),
    "a list inside another": ("inner = [1]; outer = {'a': [inner]}", "inner.append(2)", ["inner", "outer"]),
    "a list that another variable holds": (
        "outer = {'a': [1]}; inner = outer['a']",
        "outer['a'].append(2)",
        ["inner", "outer"],
    ),
    "an object's attribute": ("class C: pass\no = C(); o.a = 1", "o.a = 2", ["o"]),
    "an attribute in a slot": ("class C: __slots__ = ('a',)\no = C(); o.a = 1", "o.a = 2", ["o"]),
    "an attribute of a class": ("class C: a = 1", "C.a = 2", ["C"]),
    "a class attribute through an instance": ("class C: a = [1]\no = C()", "o.a.append(2)", ["C"]),
    "a list of the program's own class": ("class L(list): pass\nx = L([1])", "x.append(2)", ["x"]),
    "a bound method": ("x = [1]; add = x.append", "add(2)", ["x"]),
    "a bound method of the program": ("class C:\n def set(self): self.a = 2\no = C(); f = o.set", "f()", ["o"]),
    "a function that uses a global": ("x = [1]\ndef f(): x.append(2)", "f()", ["x"]),
    "a function that sets a global": ("x = 1\ndef f():\n global x\n x = 2", "f()", ["x"]),
    "a function that calls another": ("x = [1]\ndef g(): x.append(2)\ndef f(): g()", "f()", ["x"]),
    "a function inside a function": ("x = [1]\ndef f():\n def g(): x.append(2)\n g()", "f()", ["x"]),
    "a closure": ("x = [1]\ndef make(y):\n return lambda: y.append(2)\nf = make(x)", "f()", ["x"]),
    "a default": ("x = [1]\ndef f(y=x): y.append(2)", "f()", ["x"]),
    "a partial": ("import functools\nx = [1]\nf = functools.partial(list.append, x)", "f(2)", ["x"]),
    "a decorated function": ("import functools\nx = [1]\n@functools.lru_cache\ndef f(): x.append(2)", "f()", ["x"]),
    "a method that uses a global": ("x = [1]\nclass C:\n def m(self): x.append(2)\no = C()", "o.m()", ["x"]),
    "a static method": ("x = [1]\nclass C:\n @staticmethod\n def m(): x.append(2)", "C.m()", ["x"]),
    "a property": ("x = [1]\nclass C:\n @property\n def p(self): x.append(2)\no = C()", "o.p", ["x"]),
    "an operator": ("x = [1]\nclass C:\n def __add__(self, other): x.append(2)\no = C()", "o + 1", ["x"]),
    "an inherited method": ("x = [1]\nclass B:\n def m(self): x.append(2)\nclass C(B): pass\no = C()", "o.m()", ["x"]),
    "a finalizer": ("x = [1]\nclass C:\n def __del__(self): x.append(2)\no = [C()]", "o.clear()", ["o", "x"]),
    "a generator": ("x = [1]\ndef g():\n yield\n x.append(2)\n yield\ni = g(); _ = next(i)", "next(i)", ["x"]),
    "an iterator": ("x = [[1]]; i = iter(x)", "next(i).append(2)", ["x"]),
    "a weak reference": ("import weakref\nclass C: pass\no = C(); r = weakref.ref(o)", "r().a = 1", ["o"]),
    "a dictionary of functions": ("x = [1]\nd = {'f': lambda: x.append(2)}", "d['f']()", ["x"]),
    "what is popped": ("x = [1]; q = [x]", "q.pop().append(2)", ["q", "x"]),
    "what is deleted afterwards": (
        "x = [1]\nclass C: pass\no = C(); o.x = x; p = o",
        "o.x.append(2); o.x = None",
        ["o", "p", "x"],
    ),
    "globals()": ("x = [1]", "globals()['x'].append(2)", ["x"]),
    "exec": ("x = [1]", "exec('x.append(2)')", ["x"]),
    "exec in a function": ("x = 1\ndef f(): exec('global x; x = 2')", "f()", ["x"]),
    "the module __main__": ("x = 1", "import types; _m = types.ModuleType('m'); globals().update(x=2)", ["x"]),
    "an enumeration's member": ("import enum\nclass E(enum.Enum):\n A = 1\nE.A.note = 1", "E.A.note = 2", []),
}


class InPlace(unittest.TestCase):
    def test_changes_in_place_are_told_however_they_are_reached(self) -> None:
        for name, (setup, code, expected) in IN_PLACE.items():
            with self.subTest(name):
                self.assertEqual(Session(setup).changed(code), expected)

    def test_the_same_cell_again_tells_the_same(self) -> None:
        session = Session("x = [1]; y = [x]\ndef f(): x.append(2)")
        for _ in range(3):
            self.assertEqual(session.changed("f()"), ["x", "y"])

    def test_what_cannot_be_reached_is_not_looked_at(self) -> None:
        session = Session("x = [1]; y = [2]")
        session.space["y"].append(3)  # type: ignore[attr-defined]  # as no run could
        self.assertEqual(session.changed("x.append(1)"), ["x"])

    def test_names_come_and_go(self) -> None:
        session = Session("a = 1; b = [1]; f = lambda: 0")
        found = session.run(
            "c = 1; del b; a = 1.0\nfor d in (1, 2): pass\nwith open('/dev/null') as e: pass\nimport math"
        )
        self.assertEqual(found, {"added": ["c", "d", "e"], "changed": ["a"], "removed": ["b"]})
        self.assertEqual(session.run("def f(): pass\nclass c: pass")["changed"], ["c", "f"])
        self.assertEqual(session.run("from math import *")["added"], ["inf", "nan", "pi", "tau"])  # and no functions
        self.assertEqual(session.changed("a = 2 - 1.0; b2 = 0; del b2"), [])

    def test_an_error_leaves_what_was_done_before_it(self) -> None:
        session = Session("x = [1]")
        with self.assertRaises(ZeroDivisionError):
            session.run("x.append(1); y = 1; 1 / 0")
        self.assertEqual(session.run("pass"), {"added": [], "changed": [], "removed": []})

    def test_names_that_a_library_adds_are_found(self) -> None:
        session = Session("import types\nhidden = types.SimpleNamespace()")
        session.space["_add"] = functools.partial(session.space.__setitem__, "surprise")
        self.assertEqual(session.run("_add([1])")["added"], ["surprise"])
        session.space["_remove"] = functools.partial(session.space.__delitem__, "surprise")
        self.assertEqual(session.run("_remove()")["removed"], ["surprise"])

    def test_modules_of_the_program_are_entered(self) -> None:
        helper = types.ModuleType("helper")
        exec("items = [1]\ndef add(): items.append(2)", helper.__dict__)
        sys.modules["helper"] = helper
        try:
            session = Session()
            session.own = frozenset({"helper"})
            session.run("import helper\nx = helper.items")
            self.assertEqual(session.changed("helper.add()"), ["x"])
            self.assertEqual(session.changed("from helper import add as _add; _add()"), ["x"])
            self.assertEqual(session.changed("_add()"), ["x"])
        finally:
            del sys.modules["helper"]

    def test_a_module_that_is_imported_by_the_run_is_entered_too(self) -> None:
        helper, second = types.ModuleType("helper"), types.ModuleType("second")
        helper.items = [1]  # type: ignore[attr-defined]
        session = Session()
        sys.modules["helper"] = session.space["_helper"] = helper
        try:
            session.own = frozenset({"helper"})
            session.run("x = _helper.items")
            compiled = compile("import second", "<test>", "exec")
            session.ledger.begin(session.space, [compiled], session.own)
            sys.modules["second"] = second
            exec("import helper; helper.items.append(2)", second.__dict__)
            found = session.ledger.end(session.space, frozenset({"helper", "second"}))
            self.assertEqual(found["changed"], ["x"])
        finally:
            del sys.modules["helper"], sys.modules["second"]

    def test_an_awaited_task_is_followed(self) -> None:
        session = Session("import asyncio\nx = [1]\nasync def f(): x.append(2)")
        self.assertEqual(session.changed("asyncio.new_event_loop().run_until_complete(f())"), ["x"])


@unittest.skipIf(numpy is None or pandas is None, "numpy and pandas are not installed")
class Shared(unittest.TestCase):
    def test_arrays_and_tables_that_share_data_change_together(self) -> None:
        cases = {
            "a view": ("v = a[::2]", "v[0] = 5", ["a", "v"]),
            "the owner of a view": ("v = a[::2]", "a[0] = 5", ["a", "v"]),
            "two views": ("v = a[:4]; w = a[:4].reshape(2, 2)", "v[0] = 5", ["a", "v", "w"]),
            "a buffer": ("b = bytearray(8); v = np.frombuffer(b, dtype='u1')", "b[0] = 5", ["b", "v"]),
            "the array over a buffer": ("b = bytearray(8); v = np.frombuffer(b, dtype='u1')", "v[0] = 5", ["b", "v"]),
            "a memoryview": ("b = bytearray(8); m = memoryview(b)", "m[0] = 5", ["b"]),
            "a value of a table": ("", "df.loc[3, 'n'] = 7.0", ["df"]),
            "a text of a table": ("", "df.loc[3, 't'] = 'new'", ["df"]),
            "a column of a table": ("", "df['m'] = 1", ["df"]),
            "a table in a dictionary": ("d = {'k': df}", "d['k'].loc[0, 'n'] = 9.0", ["d", "df"]),
            "a table through a function": ("def f(t): t['z'] = 1", "f(df)", ["df"]),
            "a table through a global": ("def f(): df.loc[1, 'n'] = -1.0", "f()", ["df"]),
            "reading a table": ("", "df.describe(); df.values; df['n'].sum(); repr(df); df.sort_values('n')", []),
            "an object array": ("x = [1]; o = np.array([x, None], dtype=object)", "o[0].append(2)", ["o", "x"]),
        }
        for name, (setup, code, expected) in cases.items():
            with self.subTest(name):
                session = Session(
                    "import numpy as np, pandas as pd\na = np.arange(10)\n"
                    "df = pd.DataFrame({'n': np.arange(9.0), 't': list('abcdefghi'), 'k': range(9)})"
                )
                session.run(setup)
                found = session.changed(code)
                self.assertTrue(set(expected) <= set(found), found)  # type: ignore[arg-type]
                if not expected:
                    self.assertEqual(found, [])

    def test_one_value_in_the_middle_of_a_table_is_noticed(self) -> None:
        session = Session("import numpy as np, pandas as pd\ndf = pd.DataFrame(np.random.rand(10_000, 20))")
        self.assertEqual(session.changed("df.iloc[4_321, 7] = 2.0"), ["df"])
        self.assertEqual(session.changed("df.iloc[9_001, 19] = 2.0"), ["df"])


class Costs(unittest.TestCase):
    def cost(self, session: Session, code: str) -> float:
        """Return the time that the ledger takes for a cell, in seconds."""
        compiled = compile(code, "<test>", "exec")
        times = []
        for _ in range(20):
            started = time.thread_time()
            session.ledger.begin(session.space, [compiled])
            began = time.thread_time()
            exec(compiled, session.space)
            ended = time.thread_time()
            session.ledger.end(session.space)
            times.append(time.thread_time() - ended + began - started)
        return min(times)

    def test_a_hundred_thousand_variables_cost_nothing_that_is_not_touched(self) -> None:
        session = Session("for _i in range(100_000): globals()[f'v{_i}'] = _i")
        self.assertLess(self.cost(session, "q = 1"), 0.0002)

    def test_a_hundred_thousand_lists_cost_nothing_that_is_not_touched(self) -> None:
        session = Session("for _i in range(100_000): globals()[f'v{_i}'] = [_i]")
        session.ledger.settle(session.space, lambda: True)
        self.assertLess(self.cost(session, "q = 1"), 0.0002)
        self.assertLess(self.cost(session, "v77.append(1)"), 0.0005)

    def test_large_lists_are_not_walked_through(self) -> None:
        session = Session("numbers = list(range(1_000_000))\nrecords = [{'a': i} for i in range(100_000)]")
        self.assertLess(self.cost(session, "numbers[5] = 1"), 0.002)
        self.assertLess(self.cost(session, "records[5]['a'] = 1"), 0.02)

    def test_what_there_is_no_time_for_is_counted(self) -> None:
        session = Session("many = [[[i] * 60 for i in range(100)] for _ in range(100)]")
        session.run("for _i, _one in enumerate(many): globals()[f'm{_i}'] = _one")
        found = session.run("globals()")
        self.assertGreater(found["unseen"], 0)  # type: ignore[arg-type]
        session.ledger.settle(session.space, lambda: True)
        self.assertEqual(session.run("m7[3][0] = -1; m99.append(1)")["changed"], ["m7", "m99"])

    def test_marks_keep_nothing_alive(self) -> None:
        session = Session("class C: pass\no = C(); o.child = C(); l = [o.child]")
        watched = weakref.ref(session.space["o"]), weakref.ref(session.space["l"][0])  # type: ignore[index]
        session.run("o.child = None; l.clear()")
        self.assertIsNone(watched[1]())
        session.run("o = None")
        self.assertIsNone(watched[0]())


if __name__ == "__main__":
    unittest.main()
