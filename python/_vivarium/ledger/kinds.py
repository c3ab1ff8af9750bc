"""Which values can never change, and which classes and modules belong to the program."""

from __future__ import annotations

import sys
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType

from _vivarium.values.shapes import module_of, mro_of

# Exact types, by id: a class of the program may have a hash or a comparison of its own.
NUMBERS = {id(kind) for kind in (int, float, complex, bool, type(None), type(...), type(NotImplemented))}
TEXTS = {id(str), id(bytes)}
ATOMS = NUMBERS | TEXTS | {id(kind) for kind in (range, CodeType)}  # hold nothing, and never change
MAIN = "__main__"
_FUNCTIONS = {id(kind) for kind in (FunctionType, BuiltinFunctionType)}
_NUMPY_FUNCTIONS = ("ufunc", "_ArrayFunctionDispatcher")


def is_variable(name: object, value: object) -> bool:
    """Return whether an entry of the namespace counts as a variable: names with an underscore and modules do not."""
    return type(name) is str and not name.startswith("_") and type(value) is not ModuleType


def is_imported(value: object) -> bool:
    """Return whether a value is a module, or a function or a class of another one: a name for it is not a variable."""
    kind = type(value)
    if id(kind) in ATOMS:  # most new variables, and there may be many
        return False
    if any(parent is ModuleType for parent in mro_of(kind)):  # also of a class of its own, as of modules that load late
        return True
    if id(kind) in _FUNCTIONS:
        module = value.__module__  # neither type lets a program put code of its own here
    elif is_class(value):
        module = module_of(value)  # type: ignore[arg-type]
    else:
        module = module_of(kind)
        is_numpy = type(module) is str and module == "numpy"
        return is_numpy and type.__dict__["__name__"].__get__(kind) in _NUMPY_FUNCTIONS
    return type(module) is str and module != MAIN and module in sys.modules


def is_class(value: object) -> bool:
    """Return whether a value is a class, whatever its metaclass says."""
    return any(parent is type for parent in mro_of(type(value)))


def names_in(module: ModuleType) -> dict[str, object]:
    """Return what a module holds, whatever its class says."""
    return ModuleType.__getattribute__(module, "__dict__")


def is_library_module(name: object, own: frozenset[str]) -> bool:
    """Return whether the name is that of a loaded module which is not the program's."""
    return type(name) is str and name != MAIN and name not in own and name in sys.modules


def is_library_class(kind: type, own: frozenset[str]) -> bool:
    """Return whether a class comes from a library; its methods can be trusted not to reach variables by name."""
    return is_library_module(module_of(kind), own)
