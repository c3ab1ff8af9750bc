"""Tests of the report on proposed code: syntax, imports, dynamic lookups, results, hostile source."""

import json
import time
import unittest

from _vivarium.payloads.analysis.report import MAX_FACTS, report

HOSTILE = {
    "parentheses": "(" * 100_000 + ")" * 100_000,
    "minus signs": "-" * 100_000 + "1",
    "attributes": "a" + ".b" * 50_000,
    "fewer attributes": "a" + ".b" * 2500,
    "calls": "a" + "()" * 5000,
    "sums": "+".join(["a"] * 50_000),
    "lambdas": "lambda:" * 5000 + "1",
    "subscripts": "a" + "[0]" * 3000,
    "assignments": "a=" * 3000 + "1",
    "growing names": "x = y\n" + "x = x.a()\n" * 5000 + "x.put(1)",
    "chains of names": "\n".join(f"a{n} = a{n + 1}" for n in range(20_000)),
    "one name with many meanings": "\n".join(f"x = f{n}" for n in range(5000)) + "\nx.put(1)" * 5000,
    "text that doubles": "a = 'xxxx'\n" + "a = a + a\n" * 1000,
    "ten megabytes": "x = 1\n" * 1_700_000,
    "strange characters": "getattr(os, '\\ud800\\n')()\nsetattr(os, '\\x1b', 1)\n__import__('\\ud800')",
}
INVALID = {
    "x = 1\ny = = 2": (2, "invalid syntax"),
    "return 1": (1, "'return' outside function"),
    "x\0y": (1, "source code cannot contain null bytes"),
    "x = 1\ny = '\ud800'": (2, "source code cannot contain lone surrogates"),
    "x = 1\n%%time\ny": (2, "%%time must be in the first line of its cell"),
    "shell_line = 1\n!ls": (
        None,
        "the names shell_line and magic_line mean notebook lines to the analysis; use other names",
    ),
}


def facts(code: str) -> dict[str, object]:
    """Return the report."""
    return json.loads(report(code))


class Syntax(unittest.TestCase):
    def test_an_issue_has_line_and_message(self) -> None:
        for code, (line, message) in INVALID.items():
            with self.subTest(code):
                self.assertEqual(facts(code)["syntax"], [{"line": line, "message": message}])

    def test_code_that_sessions_can_run_has_no_issue(self) -> None:
        for code in (
            "await f()",
            "x = 5 % 3\ny = '%matplotlib'\nz = '''\n!pip\n'''",
            "",
            "x: int = 1",
            "%%time\nx = 1",
            "!ls\nx = 1",
        ):
            with self.subTest(code):
                self.assertEqual(facts(code)["syntax"], [])

    def test_hostile_source_gets_an_answer_in_time(self) -> None:
        for what, code in HOSTILE.items():
            with self.subTest(what):
                start = time.process_time()  # of this process: other load does not count
                answer = report(code)
                self.assertLess(time.process_time() - start, 20)
                self.assertLess(len(answer), 900_000)
                self.assertIn("syntax", json.loads(answer))
                self.assertTrue(answer.isascii())


class Lists(unittest.TestCase):
    def test_imports_have_modules_and_names(self) -> None:
        code = "import os.path\nfrom epics import caput as w, PV\nfrom . import x\nimport importlib\nimportlib.import_module('p4p.client')"
        names = [item["name"] for item in facts(code)["imports"]]  # type: ignore[attr-defined]
        self.assertEqual(names, ["os.path", "epics", "epics.caput", "epics.PV", ".", "..x", "importlib", "p4p.client"])

    def test_lookups_by_an_unknown_name_are_dynamic(self) -> None:
        for code, name in {
            "import os\ngetattr(os, input())": "getattr",
            "getattr(x, name)()": "call",
            "__import__(name)": "import",
            "import importlib\nimportlib.import_module(name)": "import",
            "globals()[name]()": "call",
        }.items():
            with self.subTest(code):
                dynamic = facts(code)["dynamic"]
                self.assertIn(name, [item["name"] for item in dynamic])  # type: ignore[attr-defined]

    def test_ordinary_lookups_are_not_dynamic(self) -> None:
        code = (
            "for row in t:\n    getattr(row, column)\nhandlers[name]()\nd = {}\nd[key]\ngetattr(x, 'y')()\nmodel.eval()"
        )
        self.assertEqual(facts(code)["dynamic"], [])

    def test_a_list_that_was_cut_is_marked_as_truncated(self) -> None:
        answer = facts("\n".join(f"f{n}()" for n in range(MAX_FACTS + 10)))
        self.assertEqual(len(answer["uses"]), MAX_FACTS)  # type: ignore[arg-type]
        self.assertTrue(answer["isTruncated"])


class Results(unittest.TestCase):
    def test_the_kind_of_results_is_found(self) -> None:
        for code, kind in {
            "results = {}": "dict",
            "results = {'a': 1}\nresults['b'] = 2": "dict",
            "results: dict = dict(a=1)": "dict",
            "import collections\nresults = collections.defaultdict(list)": "dict",
            "def f():\n    global results\n    results = {}\nf()": "dict",
            "a = {}\nresults = a": "dict",
            "if x:\n    results = {}\nelse:\n    results = None": "dict",
            "results = analyze()": "unknown",
            "for results in x:\n    pass": "unknown",
            "results = [1]": "other",
            "results = 5": "other",
            "results = 'text'": "other",
            "def f():\n    results = {}": "none",
            "results['a'] = 1": "none",
            "# results = {}": "none",
        }.items():
            with self.subTest(code):
                self.assertEqual(facts(code)["results"], kind)


if __name__ == "__main__":
    unittest.main()
