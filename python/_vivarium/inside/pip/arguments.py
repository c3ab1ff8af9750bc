"""Reads what `pip install` is called with: requirements, files of them, and options that change nothing here."""

from __future__ import annotations

import os
import shlex

from .request import Refused

_MAX_FILES = 20
_MAX_BYTES = 200_000
# Options that ask for what is done anyway, or for nothing that matters here; these take no value.
_WITHOUT_VALUE = {
    *("-q", "-qq", "-qqq", "--quiet", "-v", "-vv", "-vvv", "--verbose", "-y", "--yes", "-U", "--upgrade", "--user"),
    *("--no-cache-dir", "--no-cache", "--disable-pip-version-check", "--no-input", "--break-system-packages"),
    *("--prefer-binary", "--system", "--no-warn-script-location", "--no-color", "--no-build-isolation", "--compile"),
    *("--no-compile", "--no-build", "--no-progress", "--root-user-action=ignore", "--progress-bar=off"),
    *("--only-binary=:all:", "--no-python-version-warning", "--isolated", "--strict-channel-priority"),
}
_WITH_VALUE = {"--only-binary", "--progress-bar", "--root-user-action", "--timeout", "--retries", "--upgrade-strategy"}
_INDEX = {"-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--no-index", "--index", "--default-index"}
_FILES = ("-r", "--requirement", "--requirements")
_PLACES = ("-t", "--target", "--prefix", "--root")


def requirements_of(arguments: list[str]) -> list[str]:
    """Return the requirements that these arguments name. Raises `Refused` for what cannot be done."""
    return _read(arguments, base=".", seen=[])


def installs_elsewhere(arguments: list[str]) -> bool:
    """Return whether a directory is named. What lies there is a program's own matter, not one of its session."""
    return any(word.partition("=")[0] in _PLACES for word in arguments)


def _read(arguments: list[str], *, base: str, seen: list[str]) -> list[str]:
    found: list[str] = []
    rest = iter(arguments)
    for word in rest:
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if name in _FILES:
            found += _read_file(value if equals else next(rest, ""), base=base, seen=seen)
        elif word.startswith("-r") and len(word) > 2:
            found += _read_file(word[2:], base=base, seen=seen)
        elif word in _WITHOUT_VALUE:
            continue
        elif name in _WITH_VALUE:
            if not equals:
                next(rest, "")
        elif word.startswith("-"):
            raise Refused(_why_not(name))
        else:
            found.append(word)
    return found


def _why_not(option: str) -> str:
    if option in _INDEX:
        return f"{option} is not possible here: packages come from the index that the host is configured with."
    if option in ("-e", "--editable"):
        return "Nothing can be installed from source here: packages come as wheels from an index. Import the files."
    if option in ("-c", "--constraint", "--constraints"):
        return f"{option} is not possible here. Write the versions into the requirements, such as 'name<2'."
    return f"The option {option} is not possible here. Use: pip install NAME, NAME==VERSION, or -r FILE."


def _read_file(path: str, *, base: str, seen: list[str]) -> list[str]:
    """Return the requirements in a file, and in the files that it names."""
    full = os.path.join(base, path)
    if len(seen) >= _MAX_FILES:
        raise Refused(f"There are more than {_MAX_FILES} files of requirements.")
    seen.append(full)
    try:
        with open(full, encoding="utf-8-sig", errors="replace") as file:
            text = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise Refused(f"The file of requirements {path!r} cannot be read: {error.strerror}.") from error
    if len(text) > _MAX_BYTES:
        raise Refused(f"The file of requirements {path!r} is larger than {_MAX_BYTES} bytes.")
    found: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        words = _without_comment(line).strip()
        if words.startswith("-"):
            found += _read(shlex.split(words), base=os.path.dirname(full), seen=seen)
        elif words:
            found.append(words.partition(" --")[0].strip())  # hashes, and options of building
    return found


def _without_comment(line: str) -> str:
    return "" if line.lstrip().startswith("#") else line.partition(" #")[0]
