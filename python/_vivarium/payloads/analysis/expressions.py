"""Tells what an expression in text may do: of `frame.query("a > 1")`, of `ols("y ~ np.log(x)", data)`."""

from __future__ import annotations

import re

METHODS = ("eval", "query", "from_formula")
FORMULAS = ("statsmodels.formula.", "patsy.", "formulaic.")
_COLUMN = re.compile(r"`[^`]*`")
_STRING = re.compile(r"'[^']*'|\"[^\"]*\"")
_CALL = re.compile(r"([\w.@\])}]*)\s*\(")
_FUNCTIONS = (
    "log exp sqrt abs power sin cos tan square where clip maximum minimum round floor ceil log2 log10 log1p expm1"
)
_USUAL = "C Q I bs cr cc te poly scale center standardize log exp sqrt abs sin cos tan and or not in"
_METHODS = "isin isnull isna notnull notna between abs round fillna"
_PLAIN_CALL = re.compile(
    rf"(?:np|numpy)\.(?:{_FUNCTIONS.replace(' ', '|')})|{_USUAL.replace(' ', '|')}"
    rf"|\w+\.str\.\w+|\w+\.(?:{_METHODS.replace(' ', '|')})|"
)


def takes_expression(function: str) -> bool:
    """Tell whether the first argument of this function is an expression in text."""
    return function.rpartition(".")[2] in METHODS or function.startswith(FORMULAS)


def kind_of(text: str) -> str:
    """Return "plain" if it only calls what formulas usually call and reaches no dunder, else "calls"."""
    rest = _COLUMN.sub("x", text)
    if "\\" not in rest and "{" not in rest:  # else a quote may not end where it seems to
        rest = _STRING.sub("x", rest)
    calls = [found for found in _CALL.findall(rest) if not _PLAIN_CALL.fullmatch(found)]
    return "calls" if calls or "__" in rest or "lambda" in rest else "plain"
