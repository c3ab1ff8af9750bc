"""Keeps only the hashes of wheels for Linux and one Python in each lock file: most of the others are never downloaded.

Run it after the commands at the top of the lock files: `python tools/prune-locks.py python/locks/*/*.txt`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request
from functools import cache
from pathlib import Path

MACHINES = ("x86_64", "aarch64")
PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<rest>[^\n\\]*)\\\n(?P<hashes>(?:    --hash=\S+(?: \\)?\n)+)", re.MULTILINE)
LINK = re.compile(r"""href="[^"#]*?([^"#/]+)#sha256=([0-9a-f]+)["&]""")


def main(files: list[str]) -> None:
    """Rewrite the lock files."""
    for file in files:
        path = Path(file)
        minor = int(path.stem.partition(".")[2])
        path.write_text(PIN.sub(lambda pin, minor=minor: pruned(pin, minor), path.read_text()))


def pruned(pin: re.Match[str], minor: int) -> str:
    """Return a pin with the hashes of wheels that fit. Raises where there would be none."""
    known = wheels_of(pin["name"].lower())
    hashes = re.findall(r"sha256:\w+", pin["hashes"])
    kept = [one for one in hashes if one in known and fits(known[one], minor)]
    if not kept:
        raise SystemExit(f"{pin['name']}: no wheel fits Python 3.{minor}")
    lines = " \\\n".join(f"    --hash={one}" for one in kept)
    return f"{pin['name']}=={pin['rest']}\\\n{lines}\n"


@cache
def index() -> str:
    """Return the address of the index that pip uses."""
    told = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    found = re.search(r"index-url='(.*?)'", told.stdout)
    if found is None:
        raise SystemExit("pip has no index of its own: set one with `pip config set global.index-url ADDRESS`")
    return found[1].rstrip("/")


@cache
def wheels_of(name: str) -> dict[str, str]:
    """Return the file names of a package by their hashes."""
    with urllib.request.urlopen(f"{index()}/{name}/") as answer:
        page = answer.read().decode()
    return {f"sha256:{digest}": file for file, digest in LINK.findall(page)}


def fits(filename: str, minor: int) -> bool:
    """Return whether a file is a wheel for this Python, on Linux and one of our machines."""
    if not filename.endswith(".whl"):
        return False
    pythons, abis, platforms = (tags.split(".") for tags in filename.removesuffix(".whl").split("-")[-3:])
    is_machine = any(one == "any" or ("linux" in one and one.endswith(MACHINES)) for one in platforms)
    exact = f"cp3{minor}"
    is_python = any(one in ("py3", exact) or one.startswith("py3") for one in pythons) and any(
        one in ("none", "abi3", exact) for one in abis
    )
    is_stable = "abi3" in abis and any(re.fullmatch(r"cp3\d+", one) and int(one[3:]) <= minor for one in pythons)
    return is_machine and (is_python or is_stable)


if __name__ == "__main__":
    main(sys.argv[1:])
