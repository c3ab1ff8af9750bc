"""Magics about files, directories and the environment."""

from __future__ import annotations

import os
import shlex

from _vivarium.notebook.magics.registry import Call, UsageError, magic

_SECRET = ("key", "token", "secret")


@magic("writefile", "file", kinds=("cell",))
def _writefile(call: Call) -> None:
    """Write the cell to a file; -a adds it to the end."""
    words = shlex.split(call.argument)
    appends = bool({"-a", "--append"} & set(words))
    names = [word for word in words if word not in ("-a", "--append")]
    if len(names) != 1:
        raise UsageError(f"%%{call.name} needs the name of one file, for example: %%{call.name} module.py")
    path = os.path.expanduser(names[0])
    exists = os.path.exists(path)
    print(f"{'Appending to' if appends and exists else 'Overwriting' if exists else 'Writing'} {path}")
    body = call.body or ""
    with open(path, "a" if appends else "w", encoding="utf-8") as file:
        file.write(body if body.endswith("\n") else body + "\n")


@magic("cd")
def _cd(call: Call) -> None:
    """Change the current directory; - is the one before, -q says nothing."""
    words = shlex.split(call.argument)
    quiet = "-q" in words
    words = [word for word in words if word != "-q"]
    target = " ".join(words) if words else "~"
    before = os.getcwd()
    if target == "-":
        if call.shell.last_directory is None:
            raise UsageError("there is no earlier directory to go back to")
        target = call.shell.last_directory
    os.chdir(os.path.expanduser(target))
    call.shell.last_directory = before
    if not quiet:
        print(os.getcwd())


@magic("pwd")
def _pwd(call: Call) -> str:
    """Give the current directory."""
    return os.getcwd()


@magic("env", "set_env")
def _env(call: Call) -> object:
    """Give all environment variables or one, or set one: %env NAME=value."""
    if not call.argument:
        if call.name == "set_env":
            raise UsageError("%set_env needs a name and a value: %set_env NAME=value")
        hidden = {name: "<hidden>" for name in os.environ if any(word in name.lower() for word in _SECRET)}
        return {**os.environ, **hidden}
    sign = "=" if "=" in call.argument else None
    name, *value = (part.strip() for part in call.argument.split(sign, 1))
    if value:
        os.environ[name] = value[0]
        print(f"env: {name}={value[0]}")
        return None
    if call.name == "set_env":
        raise UsageError("%set_env needs a name and a value: %set_env NAME=value")
    if name not in os.environ:
        raise UsageError(f"Environment does not have key: {name}")
    return os.environ[name]
