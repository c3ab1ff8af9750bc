"""Magics that run programs, look back at cells, and tell about objects: `%run`, `%history`, `name?`."""

from __future__ import annotations

import os
import shlex
import sys

from _vivarium.notebook.magics.registry import Call, UsageError, magic
from _vivarium.values.text import text_of, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # slow to load

STRING_FORM = 1000
MAX_SUBCLASSES = 10


@magic("run")
def _run(call: Call) -> None:
    """Run a Python file as a program, then take over its variables; -i gives it the present ones, -n another name."""
    words = shlex.split(call.argument)
    flags = set()
    while words and words[0] in ("-i", "-n", "-e", "-t"):
        flags.add(words.pop(0))
    if not words:
        raise UsageError("%run needs the name of a Python file, for example: %run program.py --fast")
    path = os.path.expanduser(words[0])
    if not os.path.exists(path) and os.path.exists(path + ".py"):
        path += ".py"
    if not os.path.exists(path):
        raise UsageError(f"File `{words[0]}` not found.")
    if path.endswith((".ipynb", ".ipy")):
        for cell in _cells(path):
            call.shell.run_cell(cell).raise_error()
        return
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    _execute(call, code, path, words[1:], flags)


def _execute(call: Call, code: Any, path: str, arguments: list[str], flags: set[str]) -> None:
    from types import ModuleType

    shell = call.shell
    name = os.path.splitext(os.path.basename(path))[0] if "-n" in flags else "__main__"
    module = ModuleType(name)
    names = shell.user_ns if "-i" in flags else module.__dict__
    was = {key: names.get(key) for key in ("__file__", "__name__")}
    main, argv = sys.modules.get("__main__"), sys.argv
    try:
        sys.argv = [path, *arguments]
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
        names.update({"__file__": path, "__name__": name})
        if names is not shell.user_ns:
            names["__builtins__"] = shell.user_ns["__builtins__"]
            sys.modules["__main__"] = module
        exec(code, names)
    except SystemExit as exit_:
        if exit_.code not in (None, 0) and "-e" not in flags:
            raise
    finally:
        sys.argv = argv
        sys.path.remove(os.path.dirname(os.path.abspath(path)))
        if names is shell.user_ns:
            names.update({key: value for key, value in was.items() if value is not None})
            if was["__file__"] is None:
                names.pop("__file__", None)
        else:
            sys.modules["__main__"] = main  # type: ignore[assignment]
            hidden = ("__name__", "__file__", "__builtins__", "__doc__", "__loader__", "__package__", "__spec__")
            shell.user_ns.update({key: value for key, value in names.items() if key not in hidden})


def _cells(path: str) -> list[str]:
    """Return the code cells of a notebook file, or the whole of a file with notebook syntax."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if path.endswith(".ipy"):
        return [text]
    import json

    cells = json.loads(text).get("cells", [])
    return ["".join(cell["source"]) for cell in cells if cell.get("cell_type") == "code"]


@magic("history", "hist")
def _history(call: Call) -> None:
    """Print the cells that were run, or the last of them: %history -l 3; -n numbers them."""
    words = call.argument.split()
    cells = call.shell.history()
    numbered = list(enumerate(cells, 1))
    if "-l" in words:
        after = words[words.index("-l") + 1 :]
        numbered = numbered[-int(after[0] if after and after[0].isdigit() else 10) :]
    for number, cell in numbered:
        code = cell.rstrip()
        gap = "\n" if "\n" in code else " "
        print(f"{number:>4}:{gap}{code}" if "-n" in words else code)


@magic("pinfo", "pinfo2", expands=False)
def _pinfo(call: Call) -> None:
    """Tell about an object, also as name? and, with its source, as name??."""
    name = call.argument.strip()
    try:
        value = _value_of(name, call)
    except (LookupError, AttributeError):
        found = call.shell.magic_named(name)
        if found is None:
            print(f"Object `{name}` not found.")
            return
        value = found.function
    facts = _facts(name, value, has_source=call.name == "pinfo2")
    width = max(len(label) for label, _ in facts) + 1
    for label, text in facts:
        title = f"{label}:"
        print(f"{title}\n{text}" if "\n" in text else f"{title:<{width}} {text}".rstrip())


@magic("pdoc")
def _pdoc(call: Call) -> None:
    """Print the documentation of an object."""
    import inspect

    try:
        print(inspect.getdoc(_value_of(call.argument, call)) or "<no docstring>")
    except (LookupError, AttributeError):
        print(f"Object `{call.argument}` not found.")


def _value_of(name: str, call: Call) -> Any:
    """Return what a dotted name stands for. Nothing is called."""
    import builtins

    first, *rest = name.split(".")
    places = (call.place.local, call.place.names, vars(builtins))
    value = next((names for names in places if first in names), {})[first]
    for attribute in rest:
        value = getattr(value, attribute)
    return value


def _facts(name: str, value: Any, *, has_source: bool) -> list[tuple[str, str]]:
    import inspect

    facts: list[tuple[str, str]] = []

    def add(label: str, find: Any) -> None:
        try:
            found = find()
        except Exception:
            return  # built in, or not a thing that has this
        if found:
            facts.append((label, str(found)))

    if callable(value):
        label = "Init signature" if isinstance(value, type) else "Signature"
        add(label, lambda: f"{name.rpartition('.')[2]}{inspect.signature(value)}")
    else:
        facts.append(("Type", type_name(value)))
        facts.append(("String form", text_of(value, STRING_FORM, as_str=True)))
        add("Length", lambda: str(len(value)))
    if has_source:
        add("Source", lambda: inspect.getsource(value).rstrip())
    if not (has_source and facts[-1][0] == "Source"):
        add("Docstring", lambda: inspect.getdoc(value) or "<no docstring>")
    if isinstance(value, type) and not has_source:
        add("Init docstring", lambda: "__init__" in vars(value) and inspect.cleandoc(value.__init__.__doc__ or ""))  # type: ignore[misc]
    add("File", lambda: inspect.getsourcefile(value))
    if callable(value):
        facts.append(("Type", type_name(value)))
    if isinstance(value, type):
        facts.append(("Subclasses", _subclasses(value)))
    return facts


def _subclasses(value: type) -> str:
    names = [one.__name__ for one in type.__subclasses__(value)]
    return ", ".join([*names[:MAX_SUBCLASSES], "..."] if len(names) > MAX_SUBCLASSES else names)
