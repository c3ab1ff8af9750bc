"""Tests of what expressions in text are taken for."""

import unittest

from _vivarium.payloads.analysis.expressions import kind_of, takes_expression


class Expressions(unittest.TestCase):
    def test_expressions_over_columns_are_plain(self) -> None:
        for text in (
            "a > 1 and (b < 2 or not (c == 3))",
            "y ~ np.log(x) + C(group, Treatment) + Q('odd name (mm)')",
            "`price (usd)` > @limit",
            "name.str.contains('(x)') & a.isin(@known)",
            "name == 'f(x)'",
        ):
            self.assertEqual(kind_of(text), "plain", text)

    def test_other_calls_are_told_however_they_are_quoted(self) -> None:
        for text in (
            "@f(1)",
            "@f (1)",
            "a.pipe(@f)",
            "os.system('x')",
            "fs[0](1)",
            "(lambda: 1)()",
            "a.__class__",
            "I(f(x))",
            "np.load('x')",
            r"'a\'' + @f(1) + ''",
            "f'{f(1)}'",
            '"it\'s" + f(1) + "x\'"',
        ):
            self.assertEqual(kind_of(text), "calls", text)

    def test_functions_that_take_an_expression_are_known(self) -> None:
        for function in ("df.query", "?.eval", "statsmodels.formula.api.ols", "patsy.dmatrix", "m.OLS.from_formula"):
            self.assertTrue(takes_expression(function), function)
        self.assertFalse(takes_expression("df.head"))


if __name__ == "__main__":
    unittest.main()
