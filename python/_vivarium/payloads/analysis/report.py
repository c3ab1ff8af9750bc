"""Lists what code imports, uses and looks up, as JSON of bounded size."""

from __future__ import annotations

import ast
import gc
import json
import re
import sys
from typing import TypedDict

from .expressions import kind_of, takes_expression
from .names import BOUND_GETATTR, GETATTR, GETTERS, IMPORTERS, LOOKUPS, UNKNOWN, Names, Text, Values, is_namespace
from .scopes import Module, Scope, module_of
from .syntax import Issue, parse

MAX_NODES = 200_000
MAX_FACTS = 3000  # of each list
_RECURSION = 20_000  # long chains of attributes and calls are followed recursively
_OPENERS = ("open", "fdopen", "FileIO", "ZipFile", "TarFile", "File")
_MODE = re.compile(r"[rwaxbtU+|:gzip2*]{1,6}")
_ALLOWING = {"allow_pickle", "*"}
_ALLOWED = ("load", "read_array", "NpzFile")
_FRAMES = ("f_globals", "f_locals", "f_builtins", "f_code", "gi_code", "cr_code", "ag_code")
_MEMBERS = ("inspect.getmembers", "inspect.getmembers_static")
_DICTS = ("builtins.dict()", "collections.OrderedDict()", "collections.defaultdict()", "collections.ChainMap()")


class Use(TypedDict, total=False):
    """A name that the code calls, mentions or assigns to. `mode` is that of a file, `?` if it is not known.

    `given` names arguments that allow more, `*` if some are not known. `text` tells whether an expression in text is
    plain, calls functions, or is not known.
    """

    name: str
    line: int
    how: str
    mode: str
    bare: bool
    given: list[str]
    text: str


def report(code: str) -> str:
    """Return the facts about `code` as JSON."""
    gc.disable()  # trees are large and the process is short-lived
    sys.setrecursionlimit(max(_RECURSION, sys.getrecursionlimit()))
    tree, issues = parse(code)
    facts = {} if tree is None else _facts(tree)
    if not facts and not issues:
        issues = [Issue(line=None, message="the code is too large or too deep to be analyzed")]
    nothing = {"imports": [], "uses": [], "dynamic": [], "results": "none", "isTruncated": False}
    return json.dumps({"syntax": issues, "python": sys.version.split()[0], **nothing, **facts})


def _facts(tree: ast.Module) -> dict[str, object]:
    """Return the facts about the tree; none if it is too large."""
    if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
        return {}
    try:
        return Facts(tree).as_dict()
    except (RecursionError, MemoryError):
        return {}


class Facts:
    """All facts about one tree."""

    def __init__(self, tree: ast.Module) -> None:
        self._module = Module(tree)
        self._names = Names(self._module)
        self._imports: dict[str, int] = {}
        self._uses: dict[tuple[object, ...], Use] = {}
        self._dynamic: dict[tuple[str, int], None] = {}
        self._inner = self._inner_parts()
        self._looked_up = self._looked_up_parts()
        for node, scope in self._module.nodes:
            self._visit(node, scope)

    def as_dict(self) -> dict[str, object]:
        """Return the lists, each cut at its limit, and whether one was cut."""
        imports = [{"name": name[:200], "line": line} for name, line in self._imports.items()]
        dynamic = [{"name": name, "line": line} for name, line in self._dynamic]
        uses = list(self._uses.values())
        return {
            "imports": imports[:MAX_FACTS],
            "uses": uses[:MAX_FACTS],
            "dynamic": dynamic[:MAX_FACTS],
            "results": self._results(),
            "isTruncated": max(len(imports), len(uses), len(dynamic)) > MAX_FACTS,
        }

    def _inner_parts(self) -> set[int]:
        """Return the ids of nodes that are part of a longer name or call, and reported with that."""
        parts: set[int] = set()
        for node, _ in self._module.nodes:
            if isinstance(node, ast.Attribute):
                parts.add(id(node.value))
            elif isinstance(node, ast.Call):
                parts.add(id(node.func))
        return parts

    def _looked_up_parts(self) -> set[int]:
        """Return the ids of nodes in which a key is looked up (`x[key]`, `x.get(key)`, `key in x`)."""
        parts: set[int] = set()
        for node, _ in self._module.nodes:
            if isinstance(node, ast.Subscript):
                parts.add(id(node.value))
            elif isinstance(node, ast.Compare):
                parts.update(id(value) for value in node.comparators)
            elif isinstance(node, ast.Attribute) and f".{node.attr}" in LOOKUPS:
                parts.add(id(node.value))
        return parts

    def _visit(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._imports.setdefault(alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            module = module_of(node)
            self._imports.setdefault(module, node.lineno)
            for alias in node.names:
                self._imports.setdefault(f"{module}.{alias.name}", node.lineno)
        elif isinstance(node, ast.Call):
            self._visit_call(node, scope)
        elif isinstance(node, ast.MatchClass):  # takes attributes by name
            for attribute in node.kwd_attrs:
                self._use(f"{UNKNOWN}.{attribute}", node.lineno, "mentioned")
        if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
            self._visit_name(node, scope)
            self._visit_namespace(node, scope)

    def _visit_name(self, node: ast.Name | ast.Attribute | ast.Call | ast.Subscript, scope: Scope) -> None:
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            if isinstance(node, ast.Attribute):
                self._store(self._names.of(node.value, scope), node.attr, node.lineno)
            return
        is_special = isinstance(node, ast.Attribute) and (
            (node.attr.startswith("__") and node.attr.endswith("__")) or node.attr in _FRAMES
        )
        if is_special:
            self._use(f"{UNKNOWN}.{node.attr}", node.lineno, "mentioned")  # type: ignore[union-attr]
        if id(node) in self._inner:
            return
        for name in self._names.of(node, scope):
            if isinstance(name, str) and not name.startswith(UNKNOWN) and not name.endswith("()"):
                self._use(name, node.lineno, "mentioned")

    def _visit_namespace(self, node: ast.expr, scope: Scope) -> None:
        """Note the names of a module, class or program when they are taken by other than known text."""
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and not _is_own(node.value):
            if _has_unknown(self._names.of(node.slice, scope)):
                for value in self._names.of(node.value, scope):
                    if is_namespace(value):
                        self._dynamic[("import" if value == "sys.modules" else "getattr", node.lineno)] = None
        elif id(node) not in self._looked_up:
            for value in self._names.of(node, scope):
                if self._is_plain(value) and (value == "sys.modules" or str(value).endswith(".__dict__")):
                    self._dynamic[("getattr", node.lineno)] = None

    def _visit_call(self, node: ast.Call, scope: Scope) -> None:
        functions = self._names.of(node.func, scope) or {UNKNOWN}
        for function in functions:
            if not isinstance(function, str) or function == UNKNOWN:
                continue
            details: Use = {"bare": True} if not node.args and not node.keywords else {}
            if function.rpartition(".")[2] in _OPENERS:
                details["mode"] = self._mode(node, function, scope)
            details.update(self._telling(node, function, scope))
            self._use(function, node.lineno, "called", details)
            self._visit_special(node, function, scope)
        if UNKNOWN in functions and self._is_computed(node.func, scope):
            self._dynamic[("call", node.lineno)] = None

    def _telling(self, node: ast.Call, function: str, scope: Scope) -> Use:
        """Return what the arguments of a call tell about what it may run."""
        details: Use = {}
        given = {keyword.arg or "*" for keyword in node.keywords if not _is_false(keyword.value)} & _ALLOWING
        if len(node.args) > 2 or any(isinstance(argument, ast.Starred) for argument in node.args):
            given.add("*")
        if given and function.rpartition(".")[2] in _ALLOWED:
            details["given"] = sorted(given)
        if takes_expression(function) and (node.args or node.keywords):
            details["text"] = self._expression(node, scope)
        return details

    def _expression(self, node: ast.Call, scope: Scope) -> str:
        """Tell whether the text of an expression only names columns and variables."""
        texts = self._names.argument(node, 0, "expr", scope) or self._names.argument(node, 0, "formula", scope)
        kinds = {kind_of(text.value) if isinstance(text, Text) else "unknown" for text in texts}
        return "unknown" if "unknown" in kinds or not kinds else "calls" if "calls" in kinds else "plain"

    def _visit_special(self, node: ast.Call, function: str, scope: Scope) -> None:
        """Note imports and attributes named by text, and those whose name is not known."""
        if function in IMPORTERS:
            for name in self._names.argument(node, 0, "name", scope):
                if isinstance(name, Text) and name.value.isprintable():
                    self._imports.setdefault(name.value, node.lineno)
                else:
                    self._dynamic[("import", node.lineno)] = None
        elif self._takes_unknown(node, function, scope):
            self._dynamic[("getattr", node.lineno)] = None
        elif function in (*GETATTR, "builtins.setattr"):
            objects = self._names.argument(node, 0, "", scope)
            for name in self._names.argument(node, 1, "", scope):
                if isinstance(name, Text) and name.value.isprintable():
                    if function == "builtins.setattr":
                        self._store(objects, name.value, node.lineno)
                elif any(self._is_plain(value) for value in objects):
                    self._dynamic[(function.rpartition(".")[2], node.lineno)] = None

    def _takes_unknown(self, node: ast.Call, function: str, scope: Scope) -> bool:
        """Return whether this call takes attributes or names that are not known: of a module, of the program."""
        given = self._names.argument(node, 0, "", scope)
        owner, _, method = function.rpartition(".")
        if function in _MEMBERS:
            return any(self._is_plain(value) for value in given)
        if function in GETTERS:
            return _has_unknown(given)
        if f".{method}" in LOOKUPS and is_namespace(owner):
            return _has_unknown(given) and not (isinstance(node.func, ast.Attribute) and _is_own(node.func.value))
        return (
            f".{method}" in BOUND_GETATTR and self._is_plain(owner) and function not in GETATTR and _has_unknown(given)
        )

    def _is_plain(self, value: object) -> bool:
        """Return whether this is an imported module, class or function."""
        return isinstance(value, str) and "()" not in value and value[0] != UNKNOWN and value not in self._names.free

    def _store(self, objects: Values, attribute: str, line: int) -> None:
        for value in objects or {UNKNOWN}:
            if isinstance(value, str):
                owner = UNKNOWN if value.startswith(UNKNOWN) else value
                self._use(f"{owner}.{attribute}"[:200], line, "stored")

    def _is_computed(self, node: ast.expr, scope: Scope) -> bool:
        """Return whether the called object was looked up by an unknown name."""
        if isinstance(node, ast.Subscript):
            values = self._names.of(node.value, scope)
            return any(is_namespace(value) for value in values)
        return isinstance(node, ast.Call) and any(value in GETATTR for value in self._names.of(node.func, scope))

    def _mode(self, node: ast.Call, function: str, scope: Scope) -> str:
        """Return the mode that a file is opened with: the first argument of methods, the second of functions."""
        positions = (0, 1) if function.startswith(UNKNOWN) else (0,) if function.endswith("().open") else (1,)
        modes: set[str] = set()
        for position in positions:
            for value in self._names.argument(node, position, "mode", scope):
                is_mode = isinstance(value, Text) and _MODE.fullmatch(value.value)
                if is_mode or len(positions) == 1:
                    modes.add(value.value[:10] if isinstance(value, Text) else UNKNOWN)
        return "".join(sorted(modes)) or "r"

    def _use(self, name: str, line: int, how: str, details: Use | None = None) -> None:
        use: Use = {"name": name, "line": line, "how": how, **(details or {})}  # type: ignore[typeddict-item]
        key = (name, how, use.get("mode"), use.get("bare"), use.get("text"), *use.get("given", ()))
        if key not in self._uses and len(self._uses) <= MAX_FACTS:
            self._uses[key] = use

    def _results(self) -> str:
        """Return what the variable `results` is: "dict", "unknown", "other", or "none" if nothing assigns it."""
        values = self._module.scope.names.get("results")
        if values is None:
            return "none"
        if not values or any(value in _DICTS for value in values):
            return "dict" if values else "unknown"
        is_other = all(isinstance(value, Text) or str(value).startswith("builtins.") for value in values)
        return "other" if is_other else "unknown"


def _is_own(node: ast.expr) -> bool:
    """Return whether this is `self.__dict__` or `vars(self)`: the names of an object of the program."""
    if isinstance(node, ast.Call) and len(node.args) == 1:
        owner = node.args[0]
    else:
        owner = node.value if isinstance(node, ast.Attribute) else node
    return isinstance(owner, ast.Name) and owner.id in ("self", "cls")


def _has_unknown(values: Values) -> bool:
    return any(not isinstance(value, Text) for value in values)


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value
