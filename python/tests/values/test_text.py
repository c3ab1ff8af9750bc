"""Tests of turning values into text."""

import unittest

from _vivarium.values.text import cut, printable, text_of, type_name


class Raising:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __repr__(self) -> str:
        raise self.error


class Text(unittest.TestCase):
    def test_plain_values_have_their_repr(self) -> None:
        self.assertEqual(text_of([1, "a"]), "[1, 'a']")
        self.assertEqual(text_of("a\nb", as_str=True), "a\nb")
        self.assertEqual(text_of(None), "None")

    def test_a_repr_that_raises_is_named(self) -> None:
        self.assertEqual(text_of(Raising(ValueError())), "<Raising object; its repr raised ValueError>")
        self.assertEqual(text_of(Raising(SystemExit())), "<Raising object; its repr raised SystemExit>")
        self.assertEqual(text_of([Raising(ValueError())]), "<list object; its repr raised ValueError>")

    def test_a_repr_that_is_not_a_string_is_an_error_of_the_repr(self) -> None:
        odd = type("Odd", (), {"__repr__": lambda self: 5})()
        self.assertEqual(text_of(odd), "<Odd object; its repr raised TypeError>")

    def test_methods_of_a_str_subclass_do_not_run(self) -> None:
        class Evil(str):
            __len__ = __getitem__ = isascii = encode = __str__ = __add__ = lambda *_: 1 / 0  # type: ignore

        value = type("Odd", (), {"__repr__": lambda self: Evil("hi")})()
        self.assertEqual((text_of(value), type(text_of(value))), ("hi", str))

    def test_a_repr_that_recurses_for_ever_is_named(self) -> None:
        deep: list[object] = []
        for _ in range(100_000):
            deep = [deep]
        self.assertIn("RecursionError", text_of(deep))
        while deep:
            deep = deep[0]  # type: ignore[assignment]

    def test_an_interrupt_passes_through(self) -> None:
        with self.assertRaises(KeyboardInterrupt):
            text_of(Raising(KeyboardInterrupt()))

    def test_long_values_are_bounded(self) -> None:
        values = [
            "x" * 10**7,
            list(range(10**6)),
            dict.fromkeys(range(10**6)),
            set(range(10**6)),
            b"x" * 10**7,
            (1,) * 10**6,
        ]
        for value in values:
            with self.subTest(type(value)):
                text = text_of(value, 1_000)
                self.assertEqual(len(text), 1_000)
                self.assertRegex(text, r"… \(\d+ (items|long)\)$")
        many = type("Many", (), {"__repr__": lambda self: "y" * 5_000})()
        self.assertTrue(text_of(many, 1_000).endswith("… (4000 more characters)"))
        self.assertEqual(text_of(10**10_000), "<int of 33220 bits>")

    def test_the_real_name_of_odd_types_is_found(self) -> None:
        meta = type("Meta", (type,), {"__getattribute__": lambda *_: 1 / 0, "__name__": property(lambda _: 1 / 0)})
        evil = meta("Evil", (), {"__class__": property(lambda _: 1 / 0), "__repr__": lambda _: 1 / 0})()
        self.assertEqual(type_name(evil), "Evil")
        self.assertEqual(text_of(evil), "<Evil object; its repr raised ZeroDivisionError>")

    def test_lone_surrogates_are_replaced(self) -> None:
        self.assertEqual(printable("a\ud800ä"), "a\ufffdä")
        self.assertEqual(printable("\ud83d\ude00"), "😀")
        text_of("\ud800").encode("utf-8")

    def test_cut_keeps_head_and_tail(self) -> None:
        text = cut("a" * 500 + "b" * 500, 200)
        self.assertLessEqual(len(text), 200)
        self.assertIn("\n... 860 characters left out ...\n", text)


if __name__ == "__main__":
    unittest.main()
