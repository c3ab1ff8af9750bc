"""Unpacks one wheel into a directory that is nowhere in use yet, and says what it left out."""

from __future__ import annotations

import configparser
import os
import re
import stat
import sys
import zipfile

from _vivarium.values.hints import Any

MAX_FILES = 100_000
MAX_BYTES = 8 << 30
_MAX_DEPTH = 40
_MAX_NAME = 255
_MAX_SMALL = 1 << 20
_CHUNK = 1 << 20
_OUTSIDE = ("data", "headers", "scripts")
_STARTUP = ("sitecustomize", "usercustomize")
_ENTRY = re.compile(r"\s*([A-Za-z_][\w.]*)\s*:\s*([A-Za-z_][\w.]*)\s*(?:\[.*\])?\s*")
_SCRIPT = re.compile(r"[A-Za-z0-9_][\w.-]{0,99}")


class NotAWheel(Exception):
    """What was fetched cannot be installed. The message says why."""


def unpack(path: str, target: str, expected: str) -> dict[str, Any]:
    """Unpack a wheel to `target`, which must not exist. Returns the files, the scripts and what was left out."""
    with zipfile.ZipFile(path) as archive:
        entries = _entries(archive)
        about = _about(entries, expected)
        os.mkdir(target)
        files: dict[str, None] = {}
        dropped: list[str] = []
        written = 0
        for name, entry in entries.items():
            place = _place(name, about)
            if place is None:
                dropped.append(name)
                continue
            if place in files:
                raise NotAWheel(f"it has {_shown(place)} twice")
            written += _write(archive, entry, target, place, MAX_BYTES - written)
            files[place] = None
        scripts = _scripts(archive, entries.get(f"{about}.dist-info/entry_points.txt"))
    return {
        "version": about.partition("-")[2],
        "files": [*files],
        "scripts": scripts,
        "dropped": sorted(dropped)[:100],
        "bytes": written,
    }


def _entries(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the files of the archive. Anything but plain files at plain paths is refused."""
    infos = archive.infolist()
    if len(infos) > MAX_FILES:
        raise NotAWheel(f"it has more than {MAX_FILES} files")
    if sum(info.file_size for info in infos) > MAX_BYTES:
        raise NotAWheel(f"it has more than {MAX_BYTES} bytes")
    found: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise NotAWheel(f"{_shown(info.filename)} in it is a link or a special file")
        if info.flag_bits & 1:
            raise NotAWheel(f"{_shown(info.filename)} in it is encrypted")
        name = _plain(info.orig_filename)
        if info.is_dir():
            continue
        if name in found:
            raise NotAWheel(f"{_shown(name)} is in it twice")
        found[name] = info
    return found


def _plain(name: str) -> str:
    """Return a path that stays below the directory that it is relative to, or raise."""
    parts = name.removesuffix("/").split("/")
    is_plain = all(part not in ("", ".", "..") and len(os.fsencode(part)) <= _MAX_NAME for part in parts)
    if not is_plain or len(parts) > _MAX_DEPTH or not name.isprintable() or "\\" in name or ":" in parts[0]:
        raise NotAWheel(f"the path {_shown(name)} in it leads outside, or is not a plain one")
    return "/".join(parts)


def _about(entries: dict[str, zipfile.ZipInfo], expected: str) -> str:
    """Return what the name of the directory begins with in which the wheel describes itself, if that is as promised."""
    found = {name.split("/")[0] for name in entries if name.endswith(".dist-info/METADATA") and name.count("/") == 1}
    if len(found) != 1:
        raise NotAWheel("it does not describe itself (one .dist-info directory)")
    about = found.pop().removesuffix(".dist-info")
    name = about.partition("-")[0]
    if _normal(name) != _normal(expected):
        raise NotAWheel(f"it describes itself as {_shown(name)}")
    return about


def _place(name: str, about: str) -> str | None:
    """Return where a file goes, relative to the session's packages; None for what has no place there."""
    first, _, rest = name.partition("/")
    if first == f"{about}.data":
        kind, _, name = rest.partition("/")
        if kind in _OUTSIDE or not name:
            return None
        if kind not in ("purelib", "platlib"):
            raise NotAWheel(f"it has files of the unknown kind {_shown(kind)}")
        first = name.partition("/")[0]
    module = first.partition(".")[0]
    if "/" not in name and name.endswith(".pth"):
        return None
    if (
        module in _STARTUP
        or module == "_vivarium"
        or (module in sys.stdlib_module_names and not first.endswith("-info"))
    ):
        return None
    return name


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: str, place: str, most: int) -> int:
    """Write one file, and return its size, which may be other than what the archive says of it."""
    path = f"{target}/{place}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    is_program = bool(entry.external_attr >> 16 & 0o111)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    size = 0
    with archive.open(entry) as source, open(os.open(path, flags, 0o555 if is_program else 0o444), "wb") as file:
        while data := source.read(_CHUNK):
            size += len(data)
            if size > most:
                raise NotAWheel(f"it has more than {MAX_BYTES} bytes")
            file.write(data)
    return size


def _scripts(archive: zipfile.ZipFile, entry: zipfile.ZipInfo | None) -> dict[str, str]:
    """Return the commands of a package by name, each as module and function."""
    if entry is None or entry.file_size > _MAX_SMALL:
        return {}
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(archive.read(entry).decode("utf-8", "replace"))
    except configparser.Error:
        return {}
    found: dict[str, str] = {}
    for name, value in parser.items("console_scripts") if parser.has_section("console_scripts") else ():
        call = _ENTRY.fullmatch(value)
        if call and _SCRIPT.fullmatch(name):
            found[name] = f"{call[1]}:{call[2]}"
    return found


def _shown(name: str) -> str:
    return repr(name[:100])


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
