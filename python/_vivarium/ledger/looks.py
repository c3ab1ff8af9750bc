"""Proves that a cell only looks: that it changes nothing, whatever the objects in it are.

Names, attributes, subscripts, operators and the text of a value are without effects for numbers, text, built-in
containers, arrays and tables. A property, a `defaultdict`, an operator or a `__repr__` of the program is not. The
proof goes through the syntax tree with the present values of the names, and computes nothing itself.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType

from _vivarium.ledger.kinds import ATOMS, names_in
from _vivarium.ledger.libraries import tables
from _vivarium.ledger.plain import Bound, Glance
from _vivarium.values.hints import Any
from _vivarium.values.shapes import class_dict_of, mro_of

_NEW = object()  # a value that is yet to be computed; it is plain
_INDEXED = {id(kind) for kind in (list, tuple)}
_BUILT_IN = {id(kind) for kind in (list, tuple, dict, set, frozenset, bytearray)}
# What arrays and tables say about themselves without a call.
_FACTS = frozenset(
    (
        *("shape", "size", "ndim", "dtype", "dtypes", "nbytes", "itemsize", "T", "real", "imag", "strides", "flat"),
        *("columns", "index", "values", "array", "name", "names", "empty", "loc", "iloc", "at", "iat", "levels"),
        *("is_unique", "start", "stop", "step", "year", "month", "day", "hour", "minute", "second", "days", "seconds"),
    )
)


class _Unproven(Exception):
    """The cell may have an effect."""


def only_looks(tree: ast.Module, namespace: dict[str, object]) -> bool:
    """Return whether a cell certainly changes nothing. A cell that changes nothing may still not be recognised."""
    if type(builtins.__dict__.get("print")) is not BuiltinFunctionType:
        return False  # values may be printed by a function of the program
    look = _Look(namespace)
    try:
        return all(type(line) is ast.Expr and look.shows(line.value) for line in tree.body)
    except (_Unproven, Bound, RecursionError):
        return False
    except Exception:  # an array or a table in a state that its library does not expect
        return False


class _Look:
    """The proof for one cell."""

    def __init__(self, namespace: dict[str, object]) -> None:
        self._namespace = namespace
        self._glance = Glance()

    def shows(self, node: ast.expr) -> bool:
        """Return whether computing and showing an expression has no effect."""
        value = self._value(node)
        return value is _NEW or self._glance.is_shown(value)

    def _value(self, node: ast.AST) -> Any:
        """Return the value of an expression if it exists already, or `_NEW`. Raises if there may be an effect."""
        prove = _PROOFS.get(type(node))
        if prove is None:
            raise _Unproven
        return prove(self, node)

    def _plain(self, node: ast.AST) -> Any:
        value = self._value(node)
        if value is not _NEW and not self._glance.is_plain(value):
            raise _Unproven
        return value

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _name(self, node: ast.Name) -> Any:
        for names in (self._namespace, builtins.__dict__):
            if node.id in names:
                return names[node.id]
        return _NEW  # a NameError

    def _parts(self, node: ast.AST) -> Any:
        """Prove an expression that computes something from plain values."""
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self._plain(part)
        return _NEW

    def _compare(self, node: ast.Compare) -> Any:
        if all(type(one) in (ast.Is, ast.IsNot) for one in node.ops):
            for part in (node.left, *node.comparators):
                self._value(part)
            return _NEW
        return self._parts(node)

    def _subscript(self, node: ast.Subscript) -> Any:
        value, key = self._value(node.value), self._plain(node.slice)
        kind = type(value)
        is_known = key is not _NEW and id(type(key)) in ATOMS
        if id(kind) in _INDEXED and type(key) is int:
            return value[key] if -len(value) <= key < len(value) else _NEW
        if kind is dict and is_known and self._glance.has_plain_keys(value):
            return value.get(key, _NEW)
        if value is not _NEW and not self._glance.is_plain(value):
            raise _Unproven
        return _NEW

    def _attribute(self, node: ast.Attribute) -> Any:
        value, name = self._value(node.value), node.attr
        kind = type(value)
        if value is _NEW:
            if name not in _FACTS:
                raise _Unproven
            return _NEW
        if kind is ModuleType:
            return self._found(names_in(value), name)
        if id(kind) in ATOMS or id(kind) in _BUILT_IN:
            return _NEW  # a number, a method of C, or an AttributeError
        if tables.kind_of(value):
            return self._fact_of_table(value, name)
        return self._attribute_of_object(value, name)

    def _fact_of_table(self, value: Any, name: str) -> Any:
        is_defined = any(name in class_dict_of(parent) for parent in mro_of(type(value)))
        if not self._glance.is_plain(value) or (is_defined and name not in _FACTS):
            raise _Unproven
        return _NEW  # also a column

    def _attribute_of_object(self, value: Any, name: str) -> Any:
        kind = type(value)
        if type(kind) is not type or kind is type:
            raise _Unproven
        bases = [class_dict_of(parent) for parent in mro_of(kind)]
        if any("__getattribute__" in base or "__getattr__" in base for base in bases[:-1]):
            raise _Unproven
        own = next((base["__dict__"] for base in bases if "__dict__" in base), None)
        found = own.__get__(value) if type(own) is GetSetDescriptorType else None
        attributes = found if type(found) is dict else {}
        for base in bases:
            if name in base:
                return _member(base[name], value, attributes, name)
        return attributes.get(name, _NEW)

    def _found(self, names: dict[str, Any], name: str) -> Any:
        if name not in names:
            raise _Unproven  # a module may have `__getattr__`
        return names[name]


def _member(found: Any, value: Any, attributes: dict[str, Any], name: str) -> Any:
    """Return what an attribute of a class is for an object, unless it is a function that would be called."""
    if type(found) is MemberDescriptorType:
        return found.__get__(value)
    if type(found) is not FunctionType and any("__get__" in class_dict_of(one) for one in mro_of(type(found))):
        raise _Unproven
    if name in attributes:
        return attributes[name]
    if type(found) is FunctionType:
        raise _Unproven  # a bound method is shown with its object
    return found


_PROOFS: dict[type, Callable[[_Look, Any], Any]] = {
    ast.Constant: _Look._constant,
    ast.Name: _Look._name,
    ast.Attribute: _Look._attribute,
    ast.Subscript: _Look._subscript,
    ast.Compare: _Look._compare,
    **dict.fromkeys(
        (ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Tuple, ast.List, ast.Dict, ast.Slice, ast.JoinedStr), _Look._parts
    ),
    ast.FormattedValue: _Look._parts,
}
