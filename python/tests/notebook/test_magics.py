"""Tests of magics and of `get_ipython()`."""

import ast
import re
import unittest
from pathlib import Path

from _vivarium.notebook import interpreter
from _vivarium.notebook.magics import registry
from _vivarium.notebook.magics.timing import in_words

from tests.notebook.session import Session

DOCS = Path(__file__).resolve().parents[3] / "docs" / "notebook-habits.md"


class Timing(unittest.TestCase):
    def test_time_is_told_and_the_value_given(self) -> None:
        session = Session("%time 6 * 7", "%%time\nx = 1\nx + 1", "%time y = 5\ny", "%%time\n1/0")
        told = r"^CPU times: user .*, sys: .*, total: .*\nWall time: .*\n$"
        self.assertEqual(session.values, ["42", "2", "5", None])
        for out in session.out[:3]:
            self.assertRegex(out, told)
        self.assertIn('"<cell 4>", line 2', session.errors[3]["traceback"])

    def test_timeit_runs_many_times_and_can_give_a_result(self) -> None:
        session = Session(
            "count = 0\ndef f():\n    global count\n    count += 1\n%timeit -n 5 -r 2 f()\ncount",
            "r = %timeit -q -o -n3 -r1 f()\nr.loops, r.repeat, len(r.all_runs), r.best <= r.worst",
            "%%timeit -n 2 -r 3 text = 'x'\nlen(text)\nf()",
            "count, 'text' in globals()",
            "%timeit -n 1 -r 1 pass\n%timeit -n 1 g()",
        )
        self.assertEqual(session.values, ["10", "(3, 1, 1, True)", None, "(19, False)", None])
        self.assertRegex(
            session.out[0],  # on a busy machine, a line before it says that one run took much longer
            r"^(The slowest .*\n)?[\d.]+ [µnm]s ± [\d.]+ [µnm]s per loop \(mean ± std\. dev\. of 2 runs, 5 loops each\)\n$",
        )
        self.assertRegex(session.out[4], r"of 1 run, 1 loop each\)\n$")
        self.assertIn('"<cell 5>", line 2', session.errors[4]["traceback"])

    def test_times_in_words(self) -> None:
        for seconds, words in {
            0: "0 ns",
            3e-9: "3 ns",
            1.234e-5: "12.3 µs",
            0.5: "500 ms",
            2: "2 s",
            3725: "1h 2min 5s",
        }.items():
            self.assertEqual(in_words(seconds), words)


class Capture(unittest.TestCase):
    def test_output_is_kept(self) -> None:
        session = Session(
            "%%capture kept\nprint('a')\n!echo b\nimport sys; print('c', file=sys.stderr)\n7",
            "kept.stdout, kept.stderr, kept.outputs",
            "kept.show()",
            "%%capture --no-stderr\nprint('gone', file=sys.stdout); print('shown', file=sys.stderr)",
        )
        self.assertEqual((session.out[0], session.err[0], session.shown[0]), ("", "", []))
        self.assertEqual(session.values[1], "('a\\nb\\n', 'c\\n', [{'text/plain': '7'}])")
        self.assertEqual((session.out[2], session.err[2], session.values[2]), ("a\nb\n", "c\n", "7"))
        self.assertEqual((session.out[3], session.err[3]), ("", "shown\n"))

    def test_an_error_is_not_kept_from_the_caller(self) -> None:
        session = Session("%%capture kept\nprint(1)\n1/0", "print('there')")
        self.assertEqual((session.errors[0]["name"], session.out[1]), ("ZeroDivisionError", "there\n"))


class Files(unittest.TestCase):
    def test_a_written_module_can_be_imported_also_after_a_change(self) -> None:
        session = Session(
            "%%writefile mine.py\ndef f():\n    return 1",
            "import mine\nmine.f()",
            "%%writefile mine.py\ndef f():\n    return 22",
            "import mine\nmine.f()",
            "%%writefile -a mine.py\ndef g(): return 3",
            "import mine\nmine.g()",
            "open('late.py', 'w').write('x = 5')\nimport late\nlate.x",
        )
        self.assertEqual([session.values[at] for at in (1, 3, 5, 6)], ["1", "22", "3", "5"], session.failed())
        self.assertEqual(
            [session.out[at] for at in (0, 2, 4)],
            ["Writing mine.py\n", "Overwriting mine.py\n", "Appending to mine.py\n"],
        )

    def test_directories_and_environment(self) -> None:
        session = Session(
            "%mkdir sub\n%cd -q sub\n%pwd",
            "%cd -q -\n%pwd",
            "%env NEW=a b",
            "!echo $NEW",
            "%env NEW",
            "%env NOT_THERE",
            "x = 3\n%set_env N {x}",
            "%env MY_TOKEN=1",
            "all = %env\nall['MY_TOKEN'], all['N']",
            "%ls",
        )
        self.assertRegex(session.values[0], r"/sub'$")
        self.assertNotRegex(session.values[1], r"/sub'$")
        self.assertEqual((session.out[2], session.out[3], session.values[4]), ("env: NEW=a b\n", "a b\n", "'a b'"))
        self.assertEqual(session.errors[5]["value"], "Environment does not have key: NOT_THERE")
        self.assertEqual((session.values[8], session.out[9]), ("('<hidden>', '3')", "sub/\n"))

    def test_a_program_is_run_and_its_variables_taken_over(self) -> None:
        session = Session(
            "%%writefile program.py\nimport sys\nif __name__ == '__main__':\n    made = sys.argv[1:]\ndef f(): return made",
            "%run program.py a 'b c'\nmade, f(), __name__",
            "%%writefile other.py\nseen = before\nsys.exit(0)",
            "before = 4\n%run -i other.py\nseen, '__file__' in globals()",
            "%run program.py\nimport sys\nsys.argv[0]",
            "%run missing.py",
        )
        self.assertEqual(session.values[1], "(['a', 'b c'], ['a', 'b c'], '__main__')")
        self.assertEqual(session.values[3], "(4, False)", session.failed())
        self.assertEqual(session.errors[5]["value"], "File `missing.py` not found.")


class Variables(unittest.TestCase):
    def test_variables_are_listed_and_removed(self) -> None:
        session = Session(
            "x = 1\nname = 'a'\n%who",
            "%who str",
            "%who_ls",
            "l = [1]\n%whos list int",
            "%reset",
            "%reset -f\n%who_ls",
            "x",
            "%who",
        )
        self.assertEqual(session.out[:2], ["name\t x\t \n", "name\t \n"])
        self.assertEqual(session.values[2], "['name', 'x']")
        self.assertEqual(session.out[3].splitlines()[2:], ["l          list    n=1", "x          int     1"])
        self.assertIn("-f", session.errors[4]["value"])
        self.assertEqual((session.values[5], session.errors[6]["name"]), ("[]", "NameError"))
        self.assertEqual(session.out[7], "Interactive namespace is empty.\n")

    def test_objects_are_described(self) -> None:
        session = Session(
            "def f(a, b=1):\n    'Adds.'\n    return a + b\nf?", "f??", "x = [1, 2]\nx?", "nothing?", "%timeit?", "?f"
        )
        self.assertIn("Signature: f(a, b=1)\nDocstring: Adds.\n", session.out[0])
        self.assertIn("    return a + b", session.out[1])
        self.assertRegex(session.out[2], r"^Type: +list\nString form: *\[1, 2\]\nLength: +2\n")
        self.assertEqual(session.out[3], "Object `nothing` not found.\n")
        self.assertIn("many times", session.out[4])
        self.assertEqual(session.out[5], session.out[0])

    def test_history(self) -> None:
        session = Session("x = 1", "%who", "%history -n -l 2")
        self.assertEqual(session.out[2], "   2: %who\n   3: %history -n -l 2\n")


class Interpreter(unittest.TestCase):
    def test_the_usual_questions_are_answered(self) -> None:
        session = Session(
            "shell = get_ipython()\nshell.run_line_magic('pwd', '') == __import__('os').getcwd()",
            "shell.magic('%who_ls')",
            "shell.run_cell_magic('bash', '', 'echo hi')",
            "shell.getoutput('echo x'), shell.getoutput('echo x', split=False)",
            "shell.ex('made = 3')\nshell.ev('made + 1'), shell.user_ns is globals()",
            "done = shell.run_cell('!echo inner\\n5')\ndone.result, done.success",
            "shell.run_cell('1/0').success",
            "shell.register_magic_function(lambda line: line.upper(), magic_name='loud')",
            "%loud abc",
            "shell.kernel",
            "shell.push({'y': 1})\ny, shell.config",
        )
        self.assertEqual(session.values[1], "['shell']")
        self.assertEqual((session.out[2], session.out[5]), ("hi\n", "inner\n"))
        self.assertEqual(session.values[3:7], ["(['x'], 'x\\n')", "(4, True)", "(5, True)", "False"])
        self.assertEqual(
            (session.values[0], session.values[8], session.values[10]), ("True", "'ABC'", "(1, {'IPKernelApp': {}})")
        )
        self.assertIn("run_line_magic", session.errors[9]["value"])

    def test_libraries_are_told_that_there_is_no_front_end(self) -> None:
        session = Session(
            "import types\nlibrary = {'__file__': '/x/site-packages/y.py'}\nexec('found = get_ipython()', library)\nlibrary['found'], type(get_ipython()).__name__"
        )
        self.assertEqual(session.values, ["(None, 'ZMQInteractiveShell')"])

    def test_content_is_shown(self) -> None:
        session = Session(
            "%%html\n<b>x</b>",
            "%%markdown\n# x",
            "%matplotlib inline\n%load_ext autoreload\n%autoreload 2\n%config A.b = 1",
            "%load_ext sql",
        )
        self.assertEqual(
            [shown[0].get(kind) for shown, kind in zip(session.shown, ("text/html", "text/markdown"))],
            ["<b>x</b>", "# x"],
        )
        self.assertEqual((session.out[2], session.err[2]), ("", ""))
        self.assertIn("cannot be loaded", session.err[3])


class Registry(unittest.TestCase):
    def test_every_magic_says_what_it_does(self) -> None:
        for kind in registry.KINDS:
            for name in registry.known(kind):
                with self.subTest(f"{kind} {name}"):
                    self.assertRegex(registry.find(kind, name).summary, r"^[A-Z].*\.$")

    def test_the_docs_list_every_magic_and_no_other(self) -> None:
        text = DOCS.read_text()
        table = text[text.index("<!-- magics -->") : text.index("<!-- end of magics -->")]
        listed = re.findall(r"`(%%?)([\w!]+)`", table)
        for kind, mark in (("line", "%"), ("cell", "%%")):
            self.assertEqual(sorted({name for sign, name in listed if sign == mark}), registry.known(kind))

    def test_magics_import_nothing_slow(self) -> None:
        slow = {
            "subprocess",
            "inspect",
            "asyncio",
            "json",
            "typing",
            "dataclasses",
            "pathlib",
            "tempfile",
            "importlib.metadata",
        }
        package = Path(interpreter.__file__).parent
        for file in package.rglob("*.py"):
            for node in ast.parse(file.read_text()).body:
                names = (
                    [alias.name for alias in node.names]
                    if isinstance(node, ast.Import)
                    else [getattr(node, "module", "")]
                )
                with self.subTest(file.name):
                    self.assertEqual(slow.intersection(names), set())


if __name__ == "__main__":
    unittest.main()
