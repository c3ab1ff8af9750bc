"""Tests of commands: output, interpolation, interrupts, and what is left of them."""

import os
import time
import unittest

from _vivarium.notebook.expansion import expand, expressions_in
from _vivarium.notebook.lines import SList

from tests.notebook.session import Session


class Commands(unittest.TestCase):
    def test_output_goes_to_both_streams_and_the_exit_code_to_a_variable(self) -> None:
        session = Session(
            "print('before')\n!echo out; echo err >&2; exit 3\nprint('after')", "_exit_code", "!kill -9 $$\n_exit_code"
        )
        self.assertEqual((session.out[0], session.err[0]), ("before\nout\nafter\n", "err\n"))
        self.assertEqual(session.values, [None, "3", "-9"])

    def test_assigned_output_is_a_list_of_lines(self) -> None:
        session = Session(
            "files = !echo 'a 1'; echo 'b 2' >&2\nfiles",
            "files.s, files.n, files.fields(1), type(files).__name__",
            "!!echo x",
            "none = !true\nnone",
        )
        self.assertEqual(
            session.values, ["['a 1', 'b 2']", "('a 1 b 2', 'a 1\\nb 2', ['1', '2'], 'SList')", "['x']", "[]"]
        )
        self.assertEqual(session.out[0], "")

    def test_values_are_put_in_from_globals_and_locals(self) -> None:
        session = Session(
            "x = 5\n!echo {x + 1} $x $$x {{x}} '$x' {y} $y",
            "def f(z):\n    !echo {z} $z\n    found = !echo {z}\n    return found\nf(7)",
        )
        self.assertEqual(session.out, ["{x + 1} 5 {{x}} $x {y}\n", "7 7\n"])
        self.assertEqual(session.values[1], "['7']")

    def test_output_follows_a_redirected_stream(self) -> None:
        session = Session(
            "import io, contextlib\nout = io.StringIO()\nwith contextlib.redirect_stdout(out):\n    !echo kept\nout.getvalue()"
        )
        self.assertEqual((session.values, session.out), (["'kept\\n'"], [""]))

    def test_commands_read_the_input_of_the_run(self) -> None:
        session = Session(("first = input('name? ')\n!cat\nfirst", "Ada\nrest\n"), "!cat", "input()")
        self.assertEqual((session.values[0], session.out[0]), ("'Ada'", "name? "))  # the stream has read ahead
        self.assertEqual((session.out[1], session.errors[1]), ("", None))
        self.assertIn("stdin", session.errors[2]["value"])

    def test_an_interrupt_ends_the_command_and_what_it_started(self) -> None:
        started = time.monotonic()
        session = Session(
            "x = 1\nimport os\n"
            "!echo $$ > pids; (trap '' INT; sleep 61 & echo $! >> pids; setsid sleep 62 & echo $! >> pids; wait) & sleep 63",
            "import time, os\npids = [int(line) for line in open('pids')]\n"
            "def lives(pid):\n    try:\n        return open(f'/proc/{pid}/stat').read().split()[2] not in 'ZX'\n"
            "    except OSError:\n        return False\n"
            "until = time.monotonic() + 5\n"
            "while any(map(lives, pids)) and time.monotonic() < until: time.sleep(0.01)\n"
            "x, len(pids), [pid for pid in pids if lives(pid)]",
            "children = !ps -o stat= --ppid {os.getpid()}\n[one for one in children if one.startswith('Z')]",
            interrupt_after=2,
        )
        self.assertEqual(session.errors[0]["name"], "KeyboardInterrupt")
        self.assertNotIn("command.py", session.errors[0]["traceback"])
        self.assertEqual(session.values[1:], ["(1, 3, [])", "[]"], session.failed())
        self.assertLess(time.monotonic() - started, 30)

    def test_who_replaces_system_answers_every_command(self) -> None:
        session = Session(
            "get_ipython().system = lambda line: print('asked:', line.strip())",
            "!ls {1 + 1}\nx = !date\n%pip install y\n%ls z\n!pip install w\nx",
            "%%bash\nrm x",
        )
        self.assertEqual(
            session.out[1],
            "asked: ls {1 + 1}\nasked: date\nasked: pip install y\nasked: ls -F z\nasked: pip install w\n",
        )
        self.assertEqual((session.values[1], session.out[2]), ("[]", "asked: rm x\n"))


class Scripts(unittest.TestCase):
    def test_a_cell_of_bash_is_a_script(self) -> None:
        session = Session(
            '%%bash\nfor i in 1 2; do\n  echo "it\'s $i"\ndone',
            "%%sh\nexit 4",
            "_exit_code",
            "%%bash --out text --no-raise-error\necho kept; exit 5",
            "text, _exit_code",
            "%%python3\nprint(6 * 7)",
        )
        self.assertEqual([session.out[at] for at in (0, 5)], ["it's 1\nit's 2\n", "42\n"])
        self.assertEqual(session.errors[1]["name"], "CalledProcessError")
        self.assertEqual((session.values[2], session.values[4]), ("4", "('kept\\n', 5)"))

    def test_installers_end_in_one_answer(self) -> None:
        wishes = (
            *("%pip install x", "!pip install -q x", "!uv pip install x", "!python -m pip install x 2>&1 | tail -1"),
            *("pip install x", "!python3.12 -m pip install 'x>1' > /dev/null", "%conda install x", "%uv pip install x"),
            *("%uv add x", "!sudo pip3 install x && echo never"),
        )
        session = Session(*(f"{wish}\n_exit_code" for wish in wishes))
        self.assertEqual(session.values, ["1"] * len(wishes), session.failed())
        for wish, out in zip(wishes, session.out):
            with self.subTest(wish):
                self.assertRegex(
                    out, r"^Nothing can be installed here\. There is: .*\nThe owner of the session can allow it.*\n$"
                )

    def test_packages_are_listed(self) -> None:
        session = Session("%pip list", "!pip freeze", "!pip show no-such-package\n_exit_code", "%mamba env list")
        self.assertRegex(session.out[0], r"^Package +Version\n")
        self.assertEqual(session.values[2], "1")
        self.assertIn("mamba is not available", session.err[3])


class Expansion(unittest.TestCase):
    def test_names_and_expressions(self) -> None:
        names = {"x": 5, "d": {"a:b": 1}, "s": "text"}
        for text, expected in {
            "echo {x} $x": "echo 5 5",
            "{x!r} {s!r}": "5 'text'",
            "$$x {{x}}": "$x {x}",
            "{d['a:b']}": "1",
            "$HOME $1 ${x} {nothing}": "$HOME $1 ${x} {nothing}",
            "awk '{print $1}'": "awk '{print $1}'",
            "'$x' \"$x\"": "'$x' \"5\"",
            "$x.real": "5",
            "{": "{",
        }.items():
            with self.subTest(text):
                self.assertEqual(expand(text, names), expected)

    def test_what_is_evaluated_is_what_is_told(self) -> None:
        self.assertEqual(expressions_in("a {f(1)} {{no}} {x:>5} $y {"), [])
        self.assertEqual(expressions_in("a {f(1)} {{no}} {x:>5} $y"), ["f(1)", "x:>5"])


class Lines(unittest.TestCase):
    def test_lines_can_be_searched_and_split(self) -> None:
        lines = SList(["b 10 x", "a 9", "c"])
        self.assertEqual(lines.grep("A"), ["a 9"])
        self.assertEqual(lines.grep("a", prune=True), ["b 10 x", "c"])
        self.assertEqual(lines.grep("9", field=1), ["a 9"])
        self.assertEqual(lines.fields(0), ["b", "a", "c"])
        self.assertEqual(lines.fields(1, 0), ["10 b", "9 a", "c"])
        self.assertEqual(lines.sort(1, nums=True), ["c", "a 9", "b 10 x"])
        self.assertEqual([str(path) for path in SList([os.sep, "no such file"]).p], [os.sep])


if __name__ == "__main__":
    unittest.main()
