"""Vivarium's side of a Jupyter kernel: publishes what a program shows, and reports its variables.

IPython compiles and runs the cells. The pictures, forms of values, tables and changes are those of `show`, `encode` and
`cell`, so that a run looks the same wherever it was run. Like everything in a session's process it is the session's own
word to the host.
"""

from __future__ import annotations

import base64
import builtins
import json
import os
import platform
import shutil
import sys
import warnings
from typing import Any

from IPython import get_ipython  # type: ignore[import-not-found]

from _vivarium.cell.modules import WorkspaceModules
from _vivarium.cell.quitter import Quitter
from _vivarium.completion.complete import complete
from _vivarium.display import notebook
from _vivarium.display.figures import saved_in
from _vivarium.display.publisher import Publisher
from _vivarium.jupyter.pieces import in_pieces
from _vivarium.ledger.describe import inspect_variables
from _vivarium.ledger.ledger import Ledger
from _vivarium.values.encode import message_value
from _vivarium.values.frames import export_frame, summarize_frames

MIME = "application/vnd.vivarium+json"
KEY = "vivarium"  # under which the metadata of a message say what it shows
LARGEST_FORM = 5_000_000
_INTERACTIVITY = {"all": "all", "last": "last_expr", "none": "none"}
_companion: Companion | None = None


class Companion:
    """What accompanies the shell of a kernel from its start."""

    def __init__(self, shell: Any, environment: dict[str, str]) -> None:
        self._shell = shell
        self._workspace = os.getcwd()
        os.environ.update(environment)
        sys.argv = [""]  # those of the kernel are no program's arguments
        self._modules = WorkspaceModules(self._workspace)
        self._modules.install()
        self._publisher = Publisher(self._send, limit=LARGEST_FORM)
        notebook.install(builtins, self._publisher)
        shell.displayhook.compute_format_data = self._format
        shell.user_ns["exit"] = shell.user_ns["quit"] = Quitter()  # IPython's would end the kernel
        warnings.filterwarnings("ignore", message="To exit: use")
        shell.events.register("post_run_cell", lambda *_: self._publisher.end_run())
        self._injected = dict(shell.user_ns)
        self._ledger = Ledger(self._injected)
        self._ledger.changes(shell.user_ns)
        self._echoed: dict[str, Any] = {}

    def arrive(self) -> dict[str, object]:
        """Do what must wait for the end of the first code, after which IPython restores the streams."""
        for stream in (sys.stdout, sys.stderr):
            in_pieces(stream)
        return self.facts()

    def facts(self) -> dict[str, object]:
        """Return where and on what the kernel runs."""
        return {"directory": os.path.basename(self._workspace), "python": platform.python_version()}

    def begin(self, echo: str, svg: bool) -> None:
        """Set how the next cell shows, and forget imported files that have changed."""
        self._modules.refresh()
        self._shell.ast_node_interactivity = _INTERACTIVITY[echo]
        self._shell.display_trap.hook = self._print if echo == "all" else self._shell.displayhook
        self._publisher.begin_run(svg=svg)

    def finish(self, name: str | None) -> dict[str, object]:
        """Tell what the cell has done to the variables, and the value of one of them."""
        namespace = self._shell.user_ns
        changes: Any = self._ledger.changes(namespace)
        frames = summarize_frames(namespace, [*changes["added"], *changes["changed"]])
        value = message_value(namespace[name]) if name is not None and name in namespace else None
        return {
            "variables": changes,
            "dataframes": frames,
            "saved": saved_in(self._workspace, self._publisher.figures.saved),
            "value": value,
            "results": self._publisher.report(),
        }

    def inspect(self) -> list[Any]:
        """Describe the variables."""
        return list(inspect_variables(self._shell.user_ns, self._injected))

    def complete(self, text: str) -> dict[str, object]:
        """Complete what stands at the end of a text."""
        return complete(self._shell.user_ns, text, self._injected)

    def write_table(self, name: str, path: str, format: str) -> dict[str, object]:
        """Write a table to a file. Reports what is wrong, if anything."""
        return {"problem": export_frame(self._shell.user_ns, name, os.path.join(self._workspace, path), format)}

    def leave(self) -> None:
        """Remove the session's files."""
        os.chdir("/")
        shutil.rmtree(self._workspace, ignore_errors=True)

    def _send(self, item: dict[str, Any]) -> None:
        if item["kind"] == "result":
            self._echoed = item
        elif item["kind"] == "clear":
            self._shell.display_pub.clear_output(wait=item["wait"])
        else:
            self._shell.display_pub.publish(_texts(item), metadata=_about(item))

    def _format(self, value: object) -> tuple[dict[str, str], dict[str, object]]:
        """Give IPython's display hook the forms of the value that a cell ends with."""
        self._publisher.echo(value)
        return _texts(self._echoed), _about(self._echoed)

    def _print(self, value: object) -> None:
        """Take the place of the display hook where every value is to be printed."""
        if value is not None:
            self._shell.displayhook.update_user_ns(value)
            print(value)


class Answer:
    """Carries JSON through the formatters of IPython to the host."""

    def __init__(self, content: object) -> None:
        self._text = json.dumps(content, allow_nan=False)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {MIME: self._text}


def start(settings: dict[str, Any]) -> None:
    """Begin to accompany the kernel's shell."""
    global _companion
    _companion = Companion(get_ipython(), settings["environment"])


def ask(method: str, *arguments: Any) -> Answer:
    """Call the companion; made to be an expression of a request."""
    return Answer(getattr(_companion, method)(*arguments))


def _texts(item: dict[str, Any]) -> dict[str, str]:
    """Return the forms as text, which is what a message can hold."""
    forms = item["data"].items()
    return {mime: base64.b64encode(form).decode() if isinstance(form, bytes) else form for mime, form in forms}


def _about(item: dict[str, Any]) -> dict[str, object]:
    return {KEY: {"kind": item["kind"], "chart": item["chart"], "title": item["title"], "picture": item["picture"]}}
