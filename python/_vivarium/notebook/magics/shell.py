"""Magics that run commands: `%%bash`, `%%script`, `%sx`, `%ls` and the other aliases, `%pip`."""

from __future__ import annotations

import shlex
import sys

from _vivarium.inside.pip.command import other_installer
from _vivarium.notebook import command
from _vivarium.notebook.lines import SList
from _vivarium.notebook.magics.registry import Call, UsageError, magic

ALIASES = {
    "ls": "ls -F",
    "ll": "ls -F -l",
    "lf": "ls -F -l | grep ^-",
    "ldir": "ls -F -l | grep /$",
    **{name: name for name in ("cat", "cp", "mv", "rm", "mkdir", "rmdir")},
    "more": "cat",
    "less": "cat",
}
_INTERPRETERS = ("bash", "sh", "python", "python3", "perl", "ruby")
INSTALLERS = ("conda", "mamba", "micromamba", "uv")


@magic(*_INTERPRETERS, "script", kinds=("cell",))
def _script(call: Call) -> None:
    """Run the cell with another interpreter; --out NAME and --err NAME keep the output, --no-raise-error goes on."""
    words = shlex.split(call.argument)
    kept, raises = {}, True
    while words and words[0].startswith("--"):
        option = words.pop(0)
        name, _, value = option[2:].partition("=")
        if name == "no-raise-error":
            raises = False
        elif name in ("out", "err") and (value or words):
            kept[name] = value or words.pop(0)
        else:
            raise UsageError(f"there is no option {option} here; there is: --out NAME, --err NAME, --no-raise-error")
    program = [] if call.name == "script" else _interpreter(call.name)
    argv = [*program, *words]
    if not argv:
        raise UsageError("%%script needs a program, for example: %%script bash")
    body = call.body or ""
    if call.shell.is_replaced:
        call.shell.system_expanded(body)
        return
    code = _keep(call, argv, body, kept) if kept else command.run(argv, body)
    call.shell.user_ns["_exit_code"] = code
    if code and raises:
        import subprocess

        raise subprocess.CalledProcessError(code, body.encode("utf-8", "replace"))


@magic("sx", "system", kinds=("line", "cell"))
def _sx(call: Call) -> SList:
    """Run a command in the shell and give its output as a list of lines."""
    return call.shell.getoutput_expanded("\n".join(part for part in (call.argument, call.body) if part))


@magic("!", kinds=("cell",))
def _bang(call: Call) -> SList:
    """Run the cell in the shell and give its output as a list of lines."""
    return _sx(call)


@magic(*ALIASES)
def _alias(call: Call) -> None:
    """Run the command of that name."""
    call.shell.system_expanded(f"{ALIASES[call.name]} {call.argument}".strip())


@magic("pip")
def _pip(call: Call) -> None:
    """Install or list packages."""
    call.shell.system_expanded(f"pip {call.argument}")


@magic(*INSTALLERS)
def _other_installer(call: Call) -> None:
    """Answer as %pip does: there is one way to install packages."""
    if call.shell.is_replaced:
        call.shell.system_expanded(f"{call.name} {call.argument}")
        return
    call.shell.user_ns["_exit_code"] = other_installer(call.name, shlex.split(call.argument))


def _interpreter(name: str) -> list[str]:
    if name == "bash":
        return ["bash", "--noprofile", "--norc"]
    return [sys.executable, "-"] if name.startswith("python") else [name]


def _keep(call: Call, argv: list[str], body: str, kept: dict[str, str]) -> int:
    """Run with the output put into variables; a stream that no variable is named for is shown."""
    out, err, code = command.collect(argv, body, merges=False)
    for name, text, stream in (("out", out, sys.stdout), ("err", err, sys.stderr)):
        if name in kept:
            call.shell.user_ns[kept[name]] = text
        else:
            stream.write(text)
    return code
