"""What `pip` does in a session. `install` is the one function that answers a wish for packages."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys

from .arguments import installs_elsewhere, requirements_of
from .request import Refused, ask, policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LISTED = 200
_OWNER = (
    "The owner of the session can allow it with the option `packages`, or install something for it: "
    "session.install(['name'])."
)


def install(arguments: list[str]) -> int:
    """Answer `pip install` with these arguments, and return its exit code."""
    if installs_elsewhere(arguments):
        return _real_pip(["install", *arguments])
    if policy() is None:
        print("Nothing can be installed here. There is:", ", ".join(sorted(_installed(), key=str.lower)[:LISTED]))
        print(_OWNER)
        return 1
    try:
        wanted = requirements_of(arguments)
        if not wanted:
            raise Refused("Nothing is named to install. Use: pip install NAME, NAME==VERSION, or -r FILE.")
        print(ask(wanted))
    except Refused as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return 1
    importlib.invalidate_caches()
    return 0


def pip(arguments: list[str]) -> int:
    """Do what `pip` does with these arguments, and return its exit code."""
    wish, *rest = [one for one in arguments if one != "--disable-pip-version-check"] or ["help"]
    if wish in ("install", "add"):
        return install(rest)
    if wish == "download":
        return _real_pip(arguments)
    versions = _installed()
    if wish in ("list", "freeze"):
        width = max((len(name) for name in versions), default=0)
        if wish == "list":
            print(f"{'Package'.ljust(width)} Version\n{'-' * width} -------")
        for name in sorted(versions, key=str.lower):
            print(f"{name.ljust(width)} {versions[name]}" if wish == "list" else f"{name}=={versions[name]}")
        return 0
    if wish == "show":
        return _show(rest, versions)
    print(f"pip {wish} is not available here. There is: pip install, pip list, pip freeze, pip show.", file=sys.stderr)
    return 1


def other_installer(name: str, arguments: list[str]) -> int:
    """Answer an installer that there is not."""
    if arguments[:1] == ["pip"]:
        return pip(arguments[1:])
    wishes = {"install", "add"} & set(arguments[:2])
    if wishes:
        return install(_without_channels([one for one in arguments if one not in wishes]))
    print(f"{name} is not available here. Use %pip install, or what there is (%pip list).", file=sys.stderr)
    return 1


def _real_pip(arguments: list[str]) -> int:
    """Run the pip of the environment. It has the network of the session, and writes where any program can."""
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    places = (f"{entry}/pip" for entry in sys.path if entry and os.path.abspath(entry) != own)
    place = next((one for one in places if os.path.isfile(f"{one}/__main__.py")), None)
    if place is None:
        print("ERROR: There is no pip in this environment. Install without naming a directory.", file=sys.stderr)
        return 1
    sys.stdout.flush()
    return subprocess.run([sys.executable, place, *arguments], check=False).returncode


def _without_channels(arguments: list[str]) -> list[str]:
    """Return the arguments without where conda would look, and which environment it would change."""
    kept: list[str] = []
    rest = iter(arguments)
    for word in rest:
        if word in ("-c", "--channel", "-n", "--name"):
            next(rest, "")
        else:
            kept.append(word)
    return kept


def _installed() -> dict[str, str]:
    """Return the version of each package that there is."""
    from importlib.metadata import distributions

    found: Iterable = distributions()
    return {one.metadata["Name"] or "": one.version or "" for one in found if one.metadata is not None}


def _show(names: list[str], versions: dict[str, str]) -> int:
    from importlib.metadata import metadata

    missing = 0
    for name in names:
        known = next((one for one in versions if _normal(one) == _normal(name)), None)
        if known is None:
            print(f"WARNING: Package(s) not found: {name}", file=sys.stderr)
            missing = 1
        else:
            print(f"Name: {known}\nVersion: {versions[known]}\nSummary: {metadata(known)['Summary'] or ''}")
    return missing


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
