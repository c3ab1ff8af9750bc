"""Tests of resolving aliases and lookups by text."""

import json
import textwrap
import unittest

from _vivarium.payloads.analysis.report import report


def uses(code: str) -> list[dict[str, object]]:
    """Return what the code calls, mentions and stores."""
    facts = json.loads(report(textwrap.dedent(code)))
    assert facts["syntax"] == [], facts["syntax"]
    return facts["uses"]


def called(code: str) -> set[str]:
    """Return the names that the code calls."""
    return {use["name"] for use in uses(code) if use["how"] == "called"}  # type: ignore[misc]


SPELLINGS = {
    "plainly": "import os\nos.system('x')",
    "by another name of the module": "import os as o\no.system('x')",
    "by another name of the function": "from os import system as s\ns('x')",
    "by a star import": "from os import *\nsystem('x')",
    "by assignment": "import os\nf = os.system\nf('x')",
    "by a chain of assignments": "import os\na = b = os\nc, d = a.system, 1\nc('x')",
    "by getattr": "import os\ngetattr(os, 'system')('x')",
    "by getattr with a put-together name": "import os\nn = 'sys'\ngetattr(os, n + f'{\"tem\"}')('x')",
    "by __import__": "__import__('os').system('x')",
    "by import_module": "import importlib as i\ni.import_module('os').system('x')",
    "by an imported importer": "from importlib import import_module as load\nload('os').system('x')",
    "by sys.modules": "import sys\nsys.modules['os'].system('x')",
    "by sys.modules.get": "import sys\nsys.modules.get('os').system('x')",
    "by vars": "import os\nvars(os)['system']('x')",
    "by __dict__": "import os\nos.__dict__['system']('x')",
    "by globals": "import os\nglobals()['os'].system('x')",
    "by partial": "import os, functools\nfunctools.partial(os.system, 'x')()",
    "by attrgetter": "import os, operator\noperator.attrgetter('system')(os)('x')",
    "by __call__": "import os\nos.system.__call__('x')",
    "in a function": "def f():\n    import os\n    def g():\n        return os.system('x')",
    "through self": "import os\nclass A:\n    def __init__(self):\n        self.run = os.system\n    def go(self):\n        self.run('x')",
    "through the class": "import os\nclass A:\n    run = os.system\nA.run('x')",
    "by default argument": "import os\ndef f(run=os.system):\n    run('x')",
    "by walrus": "import os\nif (f := os.system):\n    f('x')",
    "by choice": "import os\n(os.system if x else os.popen)('x')",
    "in a loop over names": "import os\nfor f in (os.system, print):\n    f('x')",
    "by global": "import os\ndef f():\n    global g\n    g = os.system\ng('x')",
}


class Spellings(unittest.TestCase):
    def test_a_call_is_seen_however_it_is_spelt(self) -> None:
        for how, code in SPELLINGS.items():
            with self.subTest(how):
                self.assertIn("os.system", called(code))

    def test_names_that_are_passed_on_are_mentioned(self) -> None:
        mentioned = {use["name"] for use in uses("import os\nlist(map(os.system, ['x']))") if use["how"] == "mentioned"}
        self.assertIn("os.system", mentioned)

    def test_methods_are_known_by_the_class_of_their_object(self) -> None:
        for code in (
            "p = PV('x')\np.put(1)",
            "PV('x').put(1)",
            "with PV('x') as p:\n    p.put(1)",
            "def f(p: PV):\n    p.put(1)",
            "class Mine(PV):\n    pass\nMine('x').put(1)",
            "class Mine(PV):\n    def go(self):\n        self.put(1)",
            "class A:\n    def __init__(self):\n        self.pv = PV('x')\n    def go(self):\n        self.pv.put(1)",
        ):
            with self.subTest(code):
                self.assertIn("epics.PV().put", called("from epics import PV\n" + code))

    def test_other_objects_are_not_confused(self) -> None:
        code = "import queue\nq = queue.Queue()\nq.put(1)\nd = {}\nd.get(1)\ndef f(x):\n    x.put(1)\n"
        self.assertEqual(called(code), {"queue.Queue", "queue.Queue().put", "builtins.dict().get", "?.put"})

    def test_an_attribute_that_is_set_is_stored(self) -> None:
        for code in ("p.value = 1", "setattr(p, 'value', 1)", "p.value += 1"):
            with self.subTest(code):
                stored = {
                    use["name"] for use in uses(f"import epics\np = epics.PV('x')\n{code}") if use["how"] == "stored"
                }
                self.assertEqual(stored, {"epics.PV().value"})


class BuiltIns(unittest.TestCase):
    def test_eval_is_found_behind_other_names(self) -> None:
        for code in (
            "eval('1')",
            "e = eval\ne('1')",
            "import builtins\nbuiltins.eval('1')",
            "__builtins__['eval']('1')",
            "__builtins__.eval('1')",
            "print.__self__.eval('1')",
            "if 0:\n    eval = len\neval('1')",
            "eval('1')\neval = len",
        ):
            with self.subTest(code):
                self.assertIn("builtins.eval", called(code))

    def test_an_own_function_of_that_name_is_not_the_built_in_one(self) -> None:
        for code in (
            "def eval(x):\n    return x\neval('1')",
            "def f(eval):\n    eval('1')",
            "model.eval()",
            "df.eval('a+b')",
        ):
            with self.subTest(code):
                self.assertNotIn("builtins.eval", called(code))

    def test_words_in_comments_and_strings_do_not_count(self) -> None:
        self.assertEqual(called("# eval('x')\ns = \"os.system('x') subprocess exec(\"\n"), set())


class Modes(unittest.TestCase):
    def test_the_mode_of_a_file_is_reported(self) -> None:
        for code, mode in {
            "open('f')": "r",
            "open('f', 'w')": "w",
            "open('f', mode='ab')": "ab",
            "m = 'x'\nopen('f', m)": "x",
            "open('f', mode)": "?",
            "open(*args)": "?",
            "open('f', **options)": "?",
            "from pathlib import Path\nPath('f').open('w')": "w",
            "from pathlib import Path\n(Path('d') / 'f').open()": "r",
            "x.y.open('f', 'w')": "w",
        }.items():
            with self.subTest(code):
                self.assertIn(mode, [use["mode"] for use in uses(code) if "mode" in use])


if __name__ == "__main__":
    unittest.main()
