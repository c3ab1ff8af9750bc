"""Finds the possible values of expressions, as dotted names. Resolves aliases, getattr, imports by text and the like.

A value is a name such as `epics.caput`, an instance such as `epics.PV()`, a member of something unknown such as
`?.put`, `?` itself, a `Text`, or a `Getter`. An expression may have several, since the order of execution is ignored.
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass

from .scopes import Module, Scope

UNKNOWN = "?"
MAX_ROUNDS = 10
MAX_VALUES = 16
MAX_PARTS = 12
MAX_NAME = 120
MAX_TEXT = 200

GETATTR = ("builtins.getattr", "builtins.object.__getattribute__", "builtins.type.__getattribute__")
GETATTR += ("inspect.getattr_static", "types.ModuleType.__getattribute__")
BOUND_GETATTR = (".__getattribute__", ".__getattr__")
IMPORTERS = ("builtins.__import__", "importlib.import_module", "importlib.__import__", "runpy.run_module")
_WRAPPERS = ("functools.partial", "functools.partialmethod", "builtins.staticmethod", "builtins.classmethod")
_WRAPPERS += ("importlib.reload",)
GETTERS = ("operator.attrgetter", "operator.methodcaller")
LOOKUPS = (".get", ".__getitem__", ".pop", ".setdefault")
_SAME = ("__call__", "__func__", "__wrapped__")
_DISPLAYS = {ast.Dict: "dict", ast.DictComp: "dict", ast.List: "list", ast.ListComp: "list", ast.Tuple: "tuple"}
_DISPLAYS |= {ast.Set: "set", ast.SetComp: "set", ast.GeneratorExp: "generator", ast.Compare: "bool"}


@dataclass(frozen=True)
class Text:
    """A known string."""

    value: str


@dataclass(frozen=True)
class Getter:
    """A function that returns this attribute of its argument, or calls it."""

    attribute: str


Values = frozenset  # of str, Text and Getter


class Names:
    """The possible values of every expression of a module."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self.free: set[str] = set()  # names that nothing in the module binds
        self._attributes: dict[str, set[object]] = {}
        self._known: dict[int, Values] = {}
        for _ in range(MAX_ROUNDS):
            self._known = {}
            if not self._round():
                break
        self._known = {}

    def of(self, node: ast.expr, scope: Scope) -> Values:
        """Return the possible values of an expression; `?` if nothing is known."""
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = _bounded(self._evaluate(node, scope))
        return known

    def argument(self, node: ast.Call, position: int, keyword: str, scope: Scope) -> Values:
        """Return the possible values of an argument; none if it is not given, `?` if that is unknown."""
        if any(isinstance(given, ast.Starred) for given in node.args[: position + 1]):
            return Values({UNKNOWN})
        if position < len(node.args):
            return self.of(node.args[position], scope)
        for given in node.keywords:
            if given.arg in (keyword, None):
                return self.of(given.value, scope) if given.arg else Values({UNKNOWN})
        return Values()

    def _round(self) -> bool:
        """Evaluate every binding once. Return whether anything new was found."""
        has_changed = False
        for binding in self._module.bindings:
            if binding.expression is None:
                values: Values = Values({UNKNOWN})
            elif isinstance(binding.expression, str):
                values = Values({binding.expression})
            else:
                values = self.of(binding.expression, binding.where)
            if binding.suffix:
                values = Values(_shortened(value + binding.suffix) for value in values if _is_dotted(value))
            names = self._attributes if binding.scope is None else binding.scope.names
            known = names.setdefault(binding.name, set())
            if values <= known or len(known) > MAX_VALUES:
                continue
            known |= values
            if len(known) > MAX_VALUES:
                known.add(UNKNOWN)
            has_changed = True
        return has_changed

    def _evaluate(self, node: ast.expr, scope: Scope) -> Values:
        if isinstance(node, ast.Name):
            return self._lookup(node.id, scope, (node.lineno, node.col_offset))
        if isinstance(node, ast.Attribute):
            return self._members(self.of(node.value, scope), node.attr)
        if isinstance(node, ast.Call):
            return self._called(node, scope)
        if isinstance(node, ast.Subscript):
            return self._items(self.of(node.value, scope), self.of(node.slice, scope))
        if isinstance(node, ast.Constant):
            value = node.value
            is_text = isinstance(value, str) and len(value) <= MAX_TEXT
            return Values({Text(str(value)) if is_text else f"builtins.{type(value).__name__}()"})
        if isinstance(node, (ast.Await, ast.NamedExpr)):
            return self.of(node.value, scope)
        if isinstance(node, ast.IfExp):
            return self.of(node.body, scope) | self.of(node.orelse, scope)
        if isinstance(node, ast.BoolOp):
            return Values().union(*(self.of(value, scope) for value in node.values))
        if isinstance(node, (ast.BinOp, ast.JoinedStr)):
            return self._composed(node, scope)
        display = _DISPLAYS.get(type(node))
        return Values({f"builtins.{display}()" if display else UNKNOWN})

    def _lookup(self, name: str, scope: Scope, at: tuple[int, int] | None = None) -> Values:
        """Return the values of a name: as bound, else from a star import, else built in, else just that name."""
        where: Scope | None = scope.owner(name)
        while where is not None and (name not in where.names or (where.kind == "class" and where is not scope)):
            where = where.parent
        found = set() if where is None else set(where.names[name])
        if where is not None and _is_surely_bound(name, where, at if where is scope else None):
            return Values(found)
        if name == "__builtins__":
            found.add("builtins")
        elif hasattr(builtins, name):
            found.add(f"builtins.{name}")
        else:
            found |= {f"{star}.{name}" for star in self._stars(scope)}
        if where is None and not found:
            self.free.add(name)
            return Values({name})
        return Values(found)

    def _stars(self, scope: Scope | None) -> list[str]:
        stars: list[str] = []
        while scope is not None:
            stars += scope.stars
            scope = scope.parent
        return stars

    def _members(self, objects: Values, attribute: str) -> Values:
        """Return the values of an attribute of these objects."""
        if attribute in _SAME:
            return objects
        members: set[object] = set()
        for value in objects:
            if isinstance(value, Text):
                members.add(f"builtins.str().{attribute}")
            elif not isinstance(value, str):
                members.add(UNKNOWN)
            elif value.startswith(UNKNOWN):
                members |= self._attributes.get(attribute, set()) | {f"{UNKNOWN}.{attribute}"}
            elif attribute == "__self__" and value.startswith("builtins.") and not value.endswith("()"):
                members.add("builtins")  # a built-in function gives access to its module
            else:
                members.add(_shortened(f"{value}.{attribute}"))
                if value.endswith("()"):
                    members |= self._attributes.get(attribute, set()) - {UNKNOWN}
        return Values(members)

    def _called(self, node: ast.Call, scope: Scope) -> Values:
        """Return the values of a call: an instance, unless the function is known to return something by name."""
        results: set[object] = set()
        for function in self.of(node.func, scope):
            if isinstance(function, Getter):
                results |= self._members(self.argument(node, 0, "obj", scope), function.attribute)
            elif not _is_dotted(function) or function.startswith(UNKNOWN):
                results.add(UNKNOWN)
            elif function in GETATTR:
                results |= self._named(self.argument(node, 0, "", scope), self.argument(node, 1, "", scope))
            elif function in IMPORTERS:
                results |= self._imported(function, self.argument(node, 0, "name", scope))
            elif function in GETTERS:
                results |= {Getter(text.value) for text in self.argument(node, 0, "", scope) if isinstance(text, Text)}
            elif function in _WRAPPERS:
                results |= self.argument(node, 0, "func", scope)
            elif function.endswith(BOUND_GETATTR):
                results |= self._named(Values({function.rpartition(".")[0]}), self.argument(node, 0, "", scope))
            elif function == "builtins.vars" and node.args:
                results |= self._members(self.argument(node, 0, "", scope), "__dict__")
            elif function in ("builtins.globals", "builtins.locals", "builtins.vars"):
                results.add("globals().__dict__")
            elif function.endswith(LOOKUPS) and is_namespace(function.rpartition(".")[0]):
                results |= self._items(Values({function.rpartition(".")[0]}), self.argument(node, 0, "", scope))
            else:
                results.add(_shortened(f"{function}()"))
        return Values(results or {UNKNOWN})

    def _items(self, objects: Values, keys: Values) -> Values:
        """Return the values of a key in a namespace: `sys.modules["os"]`, `vars(os)["system"]`, `globals()["f"]`."""
        found: set[object] = set()
        for value in objects:
            for key in keys:
                if not is_namespace(value) or not isinstance(key, Text):
                    found.add(UNKNOWN)
                elif value == "sys.modules":
                    found.add(_shortened(key.value))
                elif value == "globals().__dict__":
                    found |= self._lookup(key.value, self._module.scope)
                else:
                    found |= self._members(Values({str(value).removesuffix(".__dict__")}), key.value)
        return Values(found)

    def _named(self, objects: Values, names: Values) -> Values:
        members: set[object] = set()
        for name in names:
            members |= self._members(objects, name.value) if isinstance(name, Text) else {UNKNOWN}
        return Values(members)

    def _imported(self, importer: str, names: Values) -> Values:
        """Return the module: `__import__("a.b")` returns `a`, `import_module("a.b")` returns `a.b`."""
        is_root = importer.endswith("__import__")
        texts = [name.value if isinstance(name, Text) else UNKNOWN for name in names]
        return Values(_shortened(text.partition(".")[0] if is_root else text) for text in texts)

    def _composed(self, node: ast.BinOp | ast.JoinedStr, scope: Scope) -> Values:
        """Return the values of an operation: known texts can be joined, and a path joined to something is a path."""
        parts = [node.left, node.right] if isinstance(node, ast.BinOp) else node.values
        values = [self.of(part.value if isinstance(part, ast.FormattedValue) else part, scope) for part in parts]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            return Values(value for value in values[0] if value == "pathlib.Path()") or Values({UNKNOWN})
        is_text = all(len(value) == 1 and isinstance(next(iter(value)), Text) for value in values)
        if not is_text or (isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add)):
            return Values({UNKNOWN if isinstance(node, ast.BinOp) else "builtins.str()"})
        text = "".join(next(iter(value)).value for value in values)
        return Values({Text(text) if len(text) <= MAX_TEXT else "builtins.str()"})


def _is_surely_bound(name: str, where: Scope, at: tuple[int, int] | None) -> bool:
    """Return whether a name can only be its binding; `at` is the position of a use in the same scope."""
    if where.kind == "module":
        return name in where.certain and (at is None or at > where.certain[name])
    return where.kind == "function"


def _is_dotted(value: object) -> bool:
    return isinstance(value, str)


def is_namespace(value: object) -> bool:
    """Return whether this is looked up by text. `__builtins__` is sometimes a module and sometimes a dict."""
    return isinstance(value, str) and (value in ("sys.modules", "builtins") or value.endswith(".__dict__"))


def _shortened(name: str) -> str:
    """Return a name, or `?` if it is too long."""
    is_name = len(name) <= MAX_NAME and name.count(".") < MAX_PARTS and name.isprintable() and bool(name)
    return name if is_name else UNKNOWN


def _bounded(values: Values) -> Values:
    if len(values) <= MAX_VALUES:
        return values
    return Values([*sorted(values, key=repr)[:MAX_VALUES], UNKNOWN])
