"""Tests of turning notebook syntax into Python."""

import ast
import unittest

from _vivarium.notebook.interpreter import checked
from _vivarium.notebook.syntax import Line, as_python, parse_notebook


def translated(code: str) -> str:
    """Return the code that a cell becomes."""
    seen = []

    def parse(text: str) -> ast.Module:
        seen.append(text)
        return ast.parse(text)

    parse_notebook(code, parse, as_python)
    return seen[-1]


def lines_in(code: str) -> list[Line]:
    return list(parse_notebook(code, ast.parse, as_python).lines)


SYSTEM = "get_ipython().system({!r})".format
OUTPUT = "get_ipython().getoutput({!r})".format
BECOMES = {
    "!ls -l": SYSTEM("ls -l"),
    "!!ls": OUTPUT("ls"),
    "if a:\n    !echo {x}\nb": f"if a:\n    {SYSTEM('echo {x}')}\nb",
    "for a in b:\n\t!ls (\nc": f"for a in b:\n\t{SYSTEM('ls (')}\nc",
    "try:\n    !ls\nexcept OSError:\n    pass": f"try:\n    {SYSTEM('ls')}\nexcept OSError:\n    pass",
    "def f():\n    !ls it's\n    return 1": f"def f():\n    {SYSTEM(chr(108) + 's it' + chr(39) + 's')}\n    return 1",
    "with a as b:\n    %time c()": "with a as b:\n    get_ipython().run_line_magic('time', 'c()')",
    "x = !ls": f"x = {OUTPUT('ls')}",
    "a.b[0] = !ls": f"a.b[0] = {OUTPUT('ls')}",
    "a, b = !ls": f"a, b = {OUTPUT('ls')}",
    "x = %timeit -o f()": "x = get_ipython().run_line_magic('timeit', '-o f()')",
    "%matplotlib inline\nx": "get_ipython().run_line_magic('matplotlib', 'inline')\nx",
    "?x": "get_ipython().run_line_magic('pinfo', 'x')",
    "a.b?": "get_ipython().run_line_magic('pinfo', 'a.b')",
    "a.b??": "get_ipython().run_line_magic('pinfo2', 'a.b')",
    "!echo a \\\n  b\n1": f"{SYSTEM('echo a    b')}\n\n1",
    "%%bash\nls $HOME\n": "get_ipython().run_cell_magic('bash', '', 'ls $HOME\\n')\n\n",
    "\n# why\n%%sh -x\nls": "\n\nget_ipython().run_cell_magic('sh', '-x', 'ls')\n",
    "%%time\nf()": "\nf()",
    "pip install x": "get_ipython().run_line_magic('pip', 'install x')",
    "cd data\nx": "get_ipython().run_line_magic('cd', 'data')\nx",
    '!echo "\nx = 1': f"{SYSTEM('echo ' + chr(34))}\nx = 1",
    "x = '''\n!ls\n'''\n!ls": f"x = '''\n!ls\n'''\n{SYSTEM('ls')}",
    "x = 1\r\n!ls\r\n": f"x = 1\n{SYSTEM('ls')}\n",
}
STAYS = [
    *("x = (7\n%5)", "x = [\n1\n!=1]", 's = """\n!ls\n%pip\n"""', "s = '''it's\n%%bash'''", 's = "a\\\n!ls"'),
    *("x = 7 \\\n  %y", "a != b", "a %b", "# it's\nx = '100 %'", "f'{x!r:>10}'", "", "pip = 2\nx = (5\n%pip)"),
    *("ls", "cd /tmp", "x = '''\n%%time\n'''"),
]


class Translation(unittest.TestCase):
    def test_notebook_lines_become_calls_on_their_lines(self) -> None:
        for code, expected in BECOMES.items():
            with self.subTest(code):
                self.assertEqual(translated(code), expected)

    def test_python_stays_as_it_is(self) -> None:
        for code in STAYS:
            with self.subTest(code):
                self.assertEqual(translated(code), code)
                self.assertEqual(lines_in(code), [])

    def test_magics_around_a_cell_are_told_apart(self) -> None:
        parsed = parse_notebook("%%time\n%%capture out\n!ls\n1/0", ast.parse, as_python)
        self.assertEqual(parsed.around, (("time", ""), ("capture", "out")))
        self.assertEqual(parsed.tree.body[-1].lineno, 4)

    def test_many_notebook_lines_are_translated_quickly(self) -> None:
        self.assertEqual(len(lines_in("x = 0\n" + "!ls\n" * 300 + "x = 1\n" + "!ls\n" * 300)), 600)

    def test_long_lines_are_read_quickly(self) -> None:
        for code in (" " * 200_000 + "x y", "x" * 200_000 + "!", "a, " * 900 + "!x"):
            with self.assertRaises(SyntaxError):
                translated(code)

    def test_an_error_of_python_is_the_one_that_is_raised(self) -> None:
        with self.assertRaises(SyntaxError) as caught:
            translated("!ls\nx = = 2\n")
        self.assertEqual((caught.exception.lineno, caught.exception.msg), (2, "invalid syntax"))


class Unknown(unittest.TestCase):
    def refusal(self, code: str) -> SyntaxError:
        with self.assertRaises(SyntaxError) as caught:
            parse_notebook(code, ast.parse, checked("<cell>", code))
        return caught.exception

    def test_an_unknown_magic_is_an_error_that_lists_the_known_ones(self) -> None:
        error = self.refusal("x = 1\n%frobnicate y")
        self.assertEqual((error.lineno, error.text), (2, "%frobnicate y"))
        for known in ("%frobnicate is not known", "%timeit", "%%bash", "%%writefile"):
            self.assertIn(known, error.msg)

    def test_a_magic_of_the_other_kind_is_named(self) -> None:
        self.assertIn("there is %%bash", self.refusal("%bash ls").msg)
        self.assertIn("there is %who", self.refusal("%%who\nx").msg)

    def test_a_cell_magic_further_down_is_an_error_with_its_line(self) -> None:
        error = self.refusal("x = 1\n%%bash\nls")
        self.assertEqual((error.lineno, error.msg), (2, "%%bash must be in the first line of its cell"))


if __name__ == "__main__":
    unittest.main()
