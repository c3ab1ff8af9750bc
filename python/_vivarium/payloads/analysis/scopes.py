"""Finds the scopes of a module, the scope of each node, and the bindings of names."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(eq=False)
class Scope:
    """A scope and its names. `certain` holds, for names of a module, the position after which they are surely bound."""

    parent: Scope | None
    kind: str  # "module", "class" or "function"
    names: dict[str, set[object]] = field(default_factory=dict)
    elsewhere: dict[str, Scope] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    certain: dict[str, tuple[int, int]] = field(default_factory=dict)
    bases: list[ast.expr] = field(default_factory=list)

    def owner(self, name: str) -> Scope:
        """Return the scope in which an assignment to `name` in this scope binds it."""
        return self.elsewhere.get(name, self)


@dataclass(frozen=True)
class Binding:
    """`name` may be the value of `expression`, followed by `suffix`; without an expression it may be anything.

    Without a scope, it is the name of an attribute of any object.
    """

    scope: Scope | None
    name: str
    expression: ast.expr | str | None
    where: Scope
    suffix: str = ""


class Module:
    """All nodes of a tree with their scopes, and all bindings."""

    def __init__(self, tree: ast.Module) -> None:
        self.scope = Scope(None, "module")
        self.nodes: list[tuple[ast.AST, Scope]] = []
        self.bindings: list[Binding] = []
        self._top = {id(statement) for statement in tree.body}
        stack: list[tuple[ast.AST, Scope]] = [(child, self.scope) for child in reversed(tree.body)]
        while stack:  # no recursion: the tree may be deeper than the stack
            node, scope = stack.pop()
            self.nodes.append((node, scope))
            inner = self._enter(node, scope)
            outside = _evaluated_outside(node)
            children = [(child, scope if id(child) in outside else inner) for child in ast.iter_child_nodes(node)]
            stack.extend(reversed(children))

    def _enter(self, node: ast.AST, scope: Scope) -> Scope:
        """Record what the node binds, and return the scope of its children."""
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self._bind_import(node, scope)
        elif isinstance(node, _FUNCTIONS):
            return self._enter_function(node, scope)
        elif isinstance(node, ast.ClassDef):
            self._bind(scope, node.name, None, node)
            for base in node.bases:
                self._bind(scope, node.name, base, node)
            return Scope(scope, "class", bases=node.bases)
        elif isinstance(node, _COMPREHENSIONS):
            return Scope(scope, "function")
        else:
            self._bind_statement(node, scope)
        return scope

    def _enter_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: Scope) -> Scope:
        if not isinstance(node, ast.Lambda):
            self._bind(scope, node.name, None, node)
        inner = Scope(scope, "function")
        arguments = node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        for argument in (*positional, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
            if argument is not None:
                self._bind(inner, argument.arg, None, node)
                if argument.annotation is not None:
                    self.bindings.append(Binding(inner, argument.arg, argument.annotation, scope, "()"))
        for base in scope.bases if positional else []:  # `self` may be an instance of each base class
            self.bindings.append(Binding(inner, positional[0].arg, base, scope, "()"))
        for argument, default in zip(reversed(positional), reversed(arguments.defaults)):
            self._bind(inner, argument.arg, default, node)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
            self._bind(inner, argument.arg, default, node)
        return inner

    def _bind_import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                root = alias.name.partition(".")[0]
                self._bind(scope, alias.asname or root, alias.name if alias.asname else root, node)
            elif alias.name == "*":
                scope.stars.append(module_of(node))
            else:
                self._bind(scope, alias.asname or alias.name, f"{module_of(node)}.{alias.name}", node)

    def _bind_statement(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind_target(target, node.value, scope, node)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
            self._bind_target(node.target, node.value, scope, node)
        elif isinstance(node, ast.AugAssign):
            self._bind_target(node.target, None, scope, node)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            for element in node.iter.elts if isinstance(node.iter, (ast.List, ast.Tuple, ast.Set)) else [None]:
                self._bind_target(node.target, element, scope, node)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._bind_target(node.optional_vars, node.context_expr, scope, node)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            self._bind(scope, node.name, None, node)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            self._bind(scope, node.rest, None, node)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            for name in node.names:
                scope.elsewhere[name] = self.scope if isinstance(node, ast.Global) else _outer_owner(scope, name)

    def _bind_target(self, target: ast.expr, value: ast.expr | None, scope: Scope, node: ast.AST) -> None:
        pending = [(target, value)]
        while pending:
            target, value = pending.pop()
            if isinstance(target, ast.Name):
                self._bind(scope, target.id, value, node)
            elif isinstance(target, ast.Attribute):
                self.bindings.append(Binding(None, target.attr, value, scope))
            elif isinstance(target, ast.Starred):
                pending.append((target.value, None))
            elif isinstance(target, (ast.Tuple, ast.List)):
                values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
                is_pairwise = len(values) == len(target.elts) and not any(
                    isinstance(element, ast.Starred) for element in (*values, *target.elts)
                )
                pending.extend(zip(target.elts, values if is_pairwise else [None] * len(target.elts)))

    def _bind(self, scope: Scope, name: str, value: ast.expr | str | None, node: ast.AST) -> None:
        owner = scope.owner(name)
        owner.names.setdefault(name, set())
        self.bindings.append(Binding(owner, name, value, scope))
        if scope.kind == "class":  # also an attribute of the class and its instances
            self.bindings.append(Binding(None, name, value, scope))
        if id(node) in self._top and name not in owner.certain:
            owner.certain[name] = (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


def module_of(node: ast.ImportFrom) -> str:
    """Return the module that names are imported from, with the dots of a relative import."""
    return "." * node.level + (node.module or "")


def _outer_owner(scope: Scope, name: str) -> Scope:
    """Return the enclosing function that binds `name`, or the nearest one if none is known to."""
    outer = scope.parent
    while outer is not None and outer.parent is not None and (outer.kind != "function" or name not in outer.names):
        outer = outer.parent
    return outer if outer is not None and outer.kind == "function" else scope


def _evaluated_outside(node: ast.AST) -> set[int]:
    """Return the ids of children that belong to the outer scope: decorators, defaults, bases, annotations."""
    if isinstance(node, ast.ClassDef):
        return {id(child) for child in (*node.bases, *node.keywords, *node.decorator_list)}
    if isinstance(node, ast.Lambda):
        return {id(node.args)}
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return {id(child) for child in (node.args, node.returns, *node.decorator_list)}
    return set()
