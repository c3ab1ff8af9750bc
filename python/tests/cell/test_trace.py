"""Tests of describing exceptions."""

import json
import os
import sys
import unittest
from unittest import mock

from _vivarium.cell import trace
from _vivarium.cell.source import prepare
from _vivarium.cell.trace import TRACEBACK_LIMIT, VALUE_LIMIT, Description, describe


def raised_by(code: str) -> Description:
    """Run `code` as a cell and describe what it raises."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    try:
        for piece, _ in prepare(code, filename="<cell 7>", echo="all", flags=0).pieces:
            eval(piece, namespace)
    except BaseException as error:
        # The frames of this test take the place of those of the worker: cut them.
        attribute = BaseException.__dict__["__traceback__"]
        frames = attribute.__get__(error)
        while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
            frames = frames.tb_next
        attribute.__set__(error, frames)
        return describe(error)
    raise AssertionError("nothing raised")


class Plain(unittest.TestCase):
    def test_a_traceback_shows_the_source(self) -> None:
        found = raised_by("def f():\n    return 1 / 0\nf()\n")
        self.assertEqual((found["name"], found["value"]), ("ZeroDivisionError", "division by zero"))
        lines = [line for line in found["traceback"].splitlines() if not set(line) <= set(" ^~")]
        expected = [
            "Traceback (most recent call last):",
            '  File "<cell 7>", line 3, in <module>',
            "    f()",
            '  File "<cell 7>", line 2, in f',
            "    return 1 / 0",
            "ZeroDivisionError: division by zero",
        ]
        if sys.version_info >= (3, 13):  # shows the source of the call
            expected[2] = lines[2]
        self.assertEqual(lines, expected)

    def test_files_of_python_are_named_without_their_place_on_the_machine(self) -> None:
        with mock.patch.object(trace, "_PREFIXES", [os.path.dirname(os.path.dirname(json.__file__)) + "/"]):
            error = raised_by('import json\njson.loads("{")')
            named = raised_by(f"raise ValueError({json.__file__!r})")
        self.assertIn('File "<python>/json/decoder.py", line ', error["traceback"])
        self.assertNotIn(os.path.dirname(json.__file__), error["traceback"])
        self.assertIn("json.loads", error["traceback"])
        self.assertEqual(named["value"], "<python>/json/__init__.py")
        self.assertNotIn("/usr/", trace._PREFIXES)

    def test_syntax_errors_have_a_caret_and_no_frames_of_ours(self) -> None:
        found = raised_by("x = 1\ny = = 2\n")
        self.assertTrue(found["traceback"].startswith('  File "<cell 7>", line 2'), found["traceback"])
        self.assertIn("^", found["traceback"])
        self.assertNotIn("source.py", found["traceback"])

    def test_causes_and_contexts_are_shown(self) -> None:
        found = raised_by("try:\n    1/0\nexcept Exception as e:\n    raise ValueError('x') from e")
        self.assertIn("direct cause", found["traceback"])
        found = raised_by("try:\n    1/0\nexcept Exception:\n    raise ValueError('x')")
        self.assertIn("During handling", found["traceback"])

    @unittest.skipIf(sys.version_info < (3, 11), "notes and groups came with 3.11")
    def test_notes_and_groups_are_shown(self) -> None:
        found = raised_by(
            "e = ValueError('x'); e.add_note('look here')\nraise ExceptionGroup('many', [e, KeyError(1)])"
        )
        for text in ("ExceptionGroup: many", "look here", "KeyError: 1", "ValueError: x"):
            self.assertIn(text, found["traceback"])

    def test_recursion_is_folded(self) -> None:
        found = raised_by("def f(): f()\nf()")
        self.assertEqual(found["name"], "RecursionError")
        self.assertIn("repeated", found["traceback"])

    def test_very_deep_stacks_keep_head_and_tail(self) -> None:
        limit = sys.getrecursionlimit()
        try:
            code = "import sys; sys.setrecursionlimit(9000)\ndef f(n):\n    g(n - 1) if n else 1/0\n"
            found = raised_by(code + "def g(n):\n    f(n)\nf(1500)")
        finally:
            sys.setrecursionlimit(limit)
        self.assertIn("frames left out", found["traceback"])
        self.assertTrue(found["traceback"].endswith("ZeroDivisionError: division by zero\n"))


class Bounds(unittest.TestCase):
    def test_long_messages_keep_head_and_tail(self) -> None:
        found = raised_by("raise ValueError('a' + 'x' * 1_000_000 + 'z')")
        self.assertLessEqual(len(found["value"]), VALUE_LIMIT)
        self.assertLessEqual(len(found["traceback"]), TRACEBACK_LIMIT)
        self.assertTrue(found["value"].startswith("axx") and found["value"].endswith("xxz"))
        self.assertRegex(found["traceback"], r"\.\.\. \d+ characters left out \.\.\.")

    def test_long_names_are_cut(self) -> None:
        self.assertLessEqual(len(raised_by("raise type('E' * 5000, (Exception,), {})('x')")["name"]), 200)

    def test_surrogates_are_replaced(self) -> None:
        found = raised_by("raise ValueError('a\\ud800b')")
        self.assertEqual(found["value"], "a\ufffdb")
        found["traceback"].encode("utf-8")

    def test_a_chain_of_thousands_shows_the_newest_exception(self) -> None:
        code = "e = None\nfor i in range(50_000):\n    n = ValueError(i); n.__context__ = e; e = n\nraise e"
        self.assertEqual(raised_by(code)["value"], "49999")


EVIL = """
class Meta(type):
    __name__ = property(lambda s: 1/0)
    def __getattribute__(s, n): 1/0
    def __eq__(s, o): 1/0
    def __hash__(s): 1/0
    def __instancecheck__(s, o): 1/0
class Evil({base}, metaclass=Meta):
    {body}
raise Evil('x')
"""


class Hostile(unittest.TestCase):
    def test_methods_and_attributes_may_raise(self) -> None:
        bodies = [
            "def __str__(s): 1/0",
            "def __str__(s): raise SystemExit",
            "def __str__(s): return 5",
            "def __repr__(s): 1/0",
            "def __getattribute__(s, n): 1/0",
            "__class__ = property(lambda s: 1/0)",
            "__traceback__ = property(lambda s: 1/0)",
            "__cause__ = property(lambda s: 1/0)",
            "__cause__ = 5",
            "__context__ = property(lambda s: s)",
            "__notes__ = property(lambda s: 1/0)",
            "__notes__ = [5, None, object()]",
            "__suppress_context__ = property(lambda s: 1/0)",
            "exceptions = property(lambda s: 1/0)",
            "__bool__ = __len__ = __eq__ = __hash__ = lambda *a: 1/0",
        ]
        for body in bodies:
            for base in ("Exception", "BaseException", "SyntaxError", "NameError", "AttributeError"):
                with self.subTest(body=body, base=base):
                    found = raised_by(EVIL.format(body=body, base=base))
                    self.assertEqual(found["name"], "Evil")
                    self.assertIn("Evil", found["traceback"])
                    self.assertTrue(all(type(text) is str for text in found.values()))

    def test_odd_syntax_errors_are_described(self) -> None:
        codes = [
            "raise SyntaxError('x', ('f', 'a', 'b', 5))",
            "raise SyntaxError('x', ('f', -5, 10**30, 'text', 10**30, -4))",
            "e = SyntaxError('x'); e.text = object(); e.lineno = 1; e.offset = '1'; e.msg = 5; e.filename = 7\nraise e",
            "raise SyntaxError(5, ('\\ud800', 1, 1, '\\ud800'))",
        ]
        for code in codes:
            with self.subTest(code):
                self.assertEqual(raised_by(code)["name"], "SyntaxError")

    def test_a_message_may_be_a_str_subclass(self) -> None:
        body = "class S(str):\n    isascii = encode = __getitem__ = __len__ = __str__ = lambda *a: 1/0\n"
        found = raised_by(body + "class E(Exception):\n    def __str__(s): return S('hi')\nraise E")
        self.assertEqual((found["value"], type(found["value"])), ("hi", str))

    def test_an_interrupt_passes_through(self) -> None:
        class Slow(Exception):
            def __str__(self) -> str:
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            describe(Slow())

    def test_cyclic_chains_end(self) -> None:
        self.assertEqual(
            raised_by("e = ValueError(1); f = KeyError(2); e.__cause__ = f; f.__cause__ = e\nraise e")["name"],
            "ValueError",
        )

    def test_a_loader_of_the_program_may_raise(self) -> None:
        code = "class L:\n    def get_source(self, n): raise SystemExit\n__loader__ = L(); __spec__ = L()\n"
        code += "exec(compile('1/0', 'nowhere.py', 'exec'))"
        self.assertEqual(raised_by(code)["name"], "ZeroDivisionError")


if __name__ == "__main__":
    unittest.main()
