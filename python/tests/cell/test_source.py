"""Tests of turning cell text into code."""

import __future__

import contextlib
import inspect
import io
import linecache
import textwrap
import unittest

from _vivarium.cell import source
from _vivarium.cell.source import prepare


def run(code: str, *, echo: str = "all", flags: int = 0) -> tuple[list[object], dict[str, object]]:
    """Run a cell without awaits; return the values of its expressions and its namespace."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    values = []
    with contextlib.redirect_stdout(io.StringIO()):
        for piece, is_expression in prepare(code, filename="<cell>", echo=echo, flags=flags).pieces:
            value = eval(piece, namespace)
            if is_expression:
                values.append(value)
    return values, namespace


def failure(code: str) -> SyntaxError:
    """Return the SyntaxError that preparing `code` raises."""
    try:
        prepare(code, filename="<cell>", echo="all", flags=0)
    except SyntaxError as error:
        return error
    raise AssertionError("no SyntaxError")


def is_coroutine(code: str) -> bool:
    """Return whether the only piece of a cell must be awaited."""
    [(piece, _)] = prepare(code, filename="<cell>", echo="all", flags=0).pieces
    return bool(piece.co_flags & inspect.CO_COROUTINE)


class Echo(unittest.TestCase):
    def test_all_takes_every_top_level_expression(self) -> None:
        values, _ = run("1\nx = 5\nx\nif x:\n    x + 1\nx + 2")
        self.assertEqual(values, [1, 5, 7])

    def test_last_takes_the_last_statement_only(self) -> None:
        self.assertEqual(run("1\n2\n3", echo="last")[0], [3])
        self.assertEqual(run("1\nx = 2", echo="last")[0], [])

    def test_none_takes_nothing(self) -> None:
        self.assertEqual(run("1\n2", echo="none")[0], [])

    def test_a_semicolon_silences_last(self) -> None:
        for code in ("3;", "(3);", "3;  # comment", "'äöü';", "f(\n 1\n);", "x = 1; 3 ;\n\n"):
            with self.subTest(code):
                self.assertEqual(run("f = abs\n" + code, echo="last")[0], [])
        self.assertEqual(run("';'", echo="last")[0], [";"])
        self.assertEqual(run("1; 3 # ;", echo="last")[0], [3])
        self.assertEqual(run("3;", echo="all")[0], [3])

    def test_statements_between_expressions_stay_together(self) -> None:
        prepared = prepare("a=1\nb=2\na\nc=3", filename="<cell>", echo="all", flags=0)
        self.assertEqual([is_expression for _, is_expression in prepared.pieces], [False, True, False])

    def test_empty_code_has_no_pieces(self) -> None:
        for code in ("", "\n\n", "# nothing", "   # nothing", "   "):
            with self.subTest(code):
                self.assertEqual(run(code)[0], [])


class Indentation(unittest.TestCase):
    def test_an_indented_block_runs_and_keeps_lines_and_strings(self) -> None:
        code = '\n    # why\n    text = """a\n      b"""\n    def f():\n        return text\n    f()\n'
        values, namespace = run(code)
        self.assertEqual(values, ["a\n      b"])
        self.assertEqual(namespace["f"].__code__.co_firstlineno, 5)

    def test_tabs_and_windows_line_ends_are_understood(self) -> None:
        self.assertEqual(run("\tx = 1\r\n\tx + 1\r\n")[0], [2])

    def test_future_imports_work_in_an_indented_block(self) -> None:
        prepared = prepare("  from __future__ import annotations\n  x = 1", filename="<c>", echo="all", flags=0)
        self.assertTrue(prepared.flags & __future__.annotations.compiler_flag)

    def test_a_real_indentation_error_keeps_its_line(self) -> None:
        self.assertEqual(failure("x = 1\n    y = 2").lineno, 2)
        self.assertIsInstance(failure("    x = 1\ny = 2"), IndentationError)
        self.assertIsInstance(failure("    x = 1\nelse:\n    y = 2"), SyntaxError)

    def test_errors_inside_an_indented_block_name_the_original_line(self) -> None:
        error = failure("    x = 1\n    y = = 2\n")
        self.assertEqual((error.lineno, error.text.strip()), (2, "y = = 2"))
        error = failure("    x = 1\n    for i in x:\n    pass\n")
        self.assertIn("line 2", error.msg)
        self.assertEqual(error.lineno, 3)


class Future(unittest.TestCase):
    def test_features_apply_to_later_cells(self) -> None:
        first = prepare("from __future__ import annotations", filename="<1>", echo="all", flags=0)
        _, namespace = run("def f(x: missing): pass", flags=first.flags)
        self.assertEqual(namespace["f"].__annotations__, {"x": "missing"})

    def test_the_cell_itself_is_affected(self) -> None:
        _, namespace = run("from __future__ import annotations\n1\ndef f(x: missing): pass")
        self.assertEqual(namespace["f"].__annotations__, {"x": "missing"})

    def test_our_own_features_do_not_leak_in(self) -> None:
        self.assertEqual(prepare("x = 1", filename="<c>", echo="all", flags=0).flags, 0)
        _, namespace = run("def f(x: int): pass")
        self.assertEqual(namespace["f"].__annotations__, {"x": int})

    def test_a_late_or_unknown_feature_is_an_error(self) -> None:
        self.assertEqual(failure("x = 1\nfrom __future__ import annotations").lineno, 2)
        self.assertIn("not defined", failure("from __future__ import nonsense").msg)


class Errors(unittest.TestCase):
    def test_a_syntax_error_has_line_and_text(self) -> None:
        error = failure("x = 1\nprint(1 2)\n")
        self.assertEqual((error.filename, error.lineno, error.text.rstrip()), ("<cell>", 2, "print(1 2)"))

    def test_null_bytes_and_surrogates_are_syntax_errors(self) -> None:
        self.assertIn("null bytes", failure("x = 1\ny = '\0'").msg)
        error = failure("x = 1\ny = '\ud800'")
        self.assertEqual((error.lineno, error.offset), (2, 6))

    def test_deeply_nested_code_is_a_syntax_error(self) -> None:
        for code in ("(" * 5000, "-" * 200_000 + "1", "x" + ".x" * 50_000, "[" * 150 + "]" * 150, "if 1:\n" * 3):
            with self.subTest(code[:10]):
                self.assertIsInstance(failure(code) if code[0] != "[" else SyntaxError(), SyntaxError)

    def test_a_bad_statement_late_in_the_cell_is_found_before_anything_runs(self) -> None:
        self.assertEqual(failure("print(1)\nreturn 5").lineno, 2)

    def test_a_number_with_too_many_digits_is_a_syntax_error(self) -> None:
        try:
            prepare("1" * 100_000, filename="<c>", echo="all", flags=0)
        except SyntaxError:
            pass

    def test_a_warning_turned_into_an_error_is_a_syntax_error(self) -> None:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertIsInstance(failure("x = '\\d'"), SyntaxError)


class Async(unittest.TestCase):
    def test_awaiting_pieces_are_coroutines(self) -> None:
        for code in ("await x", "async for a in b: pass", "async with a: pass", "[a async for a in b]", "x = await y"):
            with self.subTest(code):
                self.assertTrue(is_coroutine(code))
        self.assertFalse(is_coroutine("async def f(): await x"))


class Source(unittest.TestCase):
    def test_inspect_finds_the_source_of_functions(self) -> None:
        _, namespace = run("x = 1\ndef f():\n    return 2  # here\n")
        self.assertEqual(inspect.getsource(namespace["f"]), "def f():\n    return 2  # here\n")

    def test_old_cells_are_forgotten(self) -> None:
        for number in range(source.KEPT_CELLS + 5):
            prepare("1", filename=f"<old {number}>", echo="all", flags=0)
        self.assertNotIn("<old 4>", linecache.cache)
        self.assertIn("<old 5>", linecache.cache)
        linecache.checkcache()
        self.assertIn("<old 5>", linecache.cache)

    def test_the_documented_indented_example_runs(self) -> None:
        code = """
            numbers = [1, 2, 3]
            summary = {'sum': sum(numbers)}
        """
        self.assertEqual(run(code)[1]["summary"], {"sum": 6})
        self.assertEqual(run(textwrap.dedent(code))[1]["summary"], {"sum": 6})


if __name__ == "__main__":
    unittest.main()
