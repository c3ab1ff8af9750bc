"""Recognises values whose operators, indexing and text have no effects: those of Python and known libraries alone.

Only exact types count. A class of the program may do anything wherever it is looked at, printed or added.
"""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, ModuleType

from _vivarium.ledger.kinds import ATOMS, MAIN
from _vivarium.ledger.libraries import tables
from _vivarium.values.hints import Any
from _vivarium.values.loaded import member
from _vivarium.values.shapes import class_dict_of, module_of, mro_of, package_of

LIMIT = 2_000  # elements looked at for one cell
DEPTH = 20
_CONTAINERS = {id(kind) for kind in (list, tuple, set, frozenset)}
_NAMED = {id(kind) for kind in (FunctionType, BuiltinFunctionType, ModuleType)}  # shown by their names
_REPRS = ("html", "markdown", "svg", "png", "jpeg", "latex", "json", "javascript", "pdf", "mimebundle")
_FORMS = ("__repr__", "__str__", "__format__", "_ipython_display_", *(f"_repr_{form}_" for form in _REPRS))
_USED = ("__repr__", "_repr_html_", "__getitem__", "__getattr__", "__getattribute__", "__len__", "__format__")


class Bound(Exception):
    """There is more to look at than there is time for."""


class Glance:
    """Looks at a bounded number of values."""

    def __init__(self) -> None:
        self._left = LIMIT

    def is_plain(self, value: Any, depth: int = DEPTH) -> bool:
        """Return whether reading, computing with and showing a value has no effects."""
        kind = type(value)
        if id(kind) in ATOMS:
            return True
        self._left -= 1
        if self._left < 0 or depth == 0:
            raise Bound
        if id(kind) in _CONTAINERS:
            return self._are_plain(value, depth)
        if kind is dict:
            return self._are_plain(value, depth) and self._are_plain(value.values(), depth)
        package = package_of(kind)
        if package in ("numpy", "pandas"):
            return self._is_plain_data(value, kind)
        return package in ("datetime", "decimal") and _is_standard(value, kind)

    def is_shown(self, value: Any) -> bool:
        """Return whether showing a value has no effects, even if computing with it may have some."""
        kind = type(value)
        if self.is_plain(value) or id(kind) in _NAMED:
            return True
        if type(kind) is not type:
            return False
        if kind is type:
            return True  # a class with an ordinary metaclass
        bases = [class_dict_of(parent) for parent in mro_of(kind)]
        return module_of(kind) == MAIN and not any(name in base for base in bases[:-1] for name in _FORMS)

    def has_plain_keys(self, value: dict[Any, Any]) -> bool:
        """Return whether looking up a number or a text in a dictionary compares it with nothing but such."""
        self._left -= len(value)
        if self._left < 0:
            raise Bound
        return all(id(type(key)) in ATOMS for key in value)

    def _are_plain(self, values: Any, depth: int) -> bool:
        self._left -= len(values)
        if self._left < 0:
            raise Bound
        return all(id(type(value)) in ATOMS or self.is_plain(value, depth - 1) for value in values)

    def _is_plain_data(self, value: Any, kind: type) -> bool:
        found = tables.kind_of(value)
        if found == "ndarray":
            return self._is_plain_array(value)
        if found == "Index":
            return self._is_plain_index(value)
        if found:
            return _is_untouched(kind) and self._is_plain_table(value)
        if package_of(kind) == "numpy":
            generic, dtype = member("numpy", "generic"), member("numpy", "dtype")
            return any(parent is generic or parent is dtype for parent in mro_of(kind))
        known = [member("pandas", name) for name in ("Timestamp", "Timedelta", "Period")]
        missing = [type(member("pandas", name)) for name in ("NaT", "NA")]
        return any(kind is one for one in (*known, *missing)) and _has_plain_zone(value)

    def _is_plain_array(self, value: Any) -> bool:
        if not value.dtype.hasobject:
            return _prints_by_itself()
        self._left -= value.size
        if self._left < 0:
            raise Bound
        return all(id(type(one)) in ATOMS for one in value.flat)

    def _is_plain_table(self, value: Any) -> bool:
        manager = value._mgr
        return all(self._is_plain_column(block.values) for block in manager.blocks) and all(
            self._is_plain_index(axis) for axis in manager.axes
        )

    def _is_plain_index(self, value: Any) -> bool:
        if tables.kind_of(value) != "Index":
            return False
        if type(value) is member("pandas", "MultiIndex"):
            return all(self._is_plain_index(level) for level in value.levels)
        return type(value) is member("pandas", "RangeIndex") or self._is_plain_column(value._data)

    def _is_plain_column(self, values: Any) -> bool:
        if type(values) is member("numpy", "ndarray"):
            return self._is_plain_array(values)
        if package_of(type(values)) != "pandas":
            return False
        if type(values) is member("pandas", "Categorical"):
            return self._is_plain_index(values.categories)
        return _has_plain_zone(values)


def _is_standard(value: Any, kind: type) -> bool:
    names = (("datetime", "date"), ("datetime", "timedelta"), ("datetime", "datetime"), ("decimal", "Decimal"))
    return any(kind is member(*name) for name in names) and _has_plain_zone(value)


def _has_plain_zone(value: Any) -> bool:
    """Return whether a time zone, if there is one, is not the program's."""
    zone = getattr(value, "tzinfo", None)
    return zone is None or package_of(type(zone)) in ("datetime", "zoneinfo", "pytz", "dateutil")


def _is_untouched(kind: type) -> bool:
    """Return whether a class of pandas and its options are without functions of the program."""
    for parent in mro_of(kind):
        for name in _USED:
            method = class_dict_of(parent).get(name)
            if type(method) is FunctionType and method.__globals__.get("__name__") == MAIN:
                return False
    options = member("pandas", "options")
    return options.display.float_format is None and _prints_by_itself()


def _prints_by_itself() -> bool:
    """Return whether numpy prints numbers without the help of a function of the program."""
    printing = member("numpy", "get_printoptions")
    if type(printing) is not FunctionType or printing.__globals__.get("__name__") == MAIN:
        return False
    return printing().get("formatter") is None
