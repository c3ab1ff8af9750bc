"""Notes what a program tries to do beyond its own process while it runs as a preview: network, processes, files, devices.

Sent as init code to the session of a preview. It reports, it does not hold anybody back: the walls around the session do.
`effects()` gives what was noted since the session began; repeated attempts are counted, not listed again.
"""

from __future__ import annotations

import ctypes  # noqa: F401 - loaded before anybody listens: it opens the process itself when it is imported
import os
import sys

_MAX_KINDS = 200
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_QUIET_PLACES = ("/tmp/", "/dev/", "/proc/", "/workspace/", "/mnt/data/", "/.rollback", "/.cache/")
_FRAMES = 12


class _Notes:
    """What was attempted, each once, with a count."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str], int] = {}
        self.omitted = 0

    def add(self, kind: str, what: str) -> None:
        """Count an attempt."""
        key = kind, what[:300]
        if key in self.found or len(self.found) < _MAX_KINDS:
            self.found[key] = self.found.get(key, 0) + 1
        else:
            self.omitted += 1


def _listen() -> _Notes:
    notes = _Notes()

    def listener(event: str, args: tuple[object, ...]) -> None:
        look = _LOOKS.get(event)
        if look is not None:
            try:
                look(notes, args)
            except Exception:  # noqa: BLE001 - an odd argument is no reason to disturb the program
                notes.omitted += 1

    sys.addaudithook(listener)
    return notes


def _is_ours() -> bool:
    """Tell whether the session itself is making a copy of its process."""
    frame = sys._getframe()
    for _ in range(_FRAMES):
        if frame is None:
            return False
        if frame.f_globals.get("__name__") == "_vivarium.worker.twins":
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _connect(notes: _Notes, args: tuple[object, ...]) -> None:
    notes.add("network", f"connect to {_shown(args[1])}")


def _resolve(notes: _Notes, args: tuple[object, ...]) -> None:
    notes.add("network", f"look up {_shown(args[0])}")


def _start(notes: _Notes, args: tuple[object, ...]) -> None:
    notes.add("process", _shown(args[1] if len(args) > 1 and args[1] else args[0]))


def _open(notes: _Notes, args: tuple[object, ...]) -> None:
    path, mode, flags = args
    if (isinstance(flags, int) and flags & _WRITE_FLAGS) or (
        isinstance(mode, str) and any(letter in mode for letter in "wax+")
    ):
        _touch(notes, "write", path)


def _change(kind: str, *places: int) -> object:
    """Note a change of the paths at these places among the arguments; the first one by itself."""

    def look(notes: _Notes, args: tuple[object, ...]) -> None:
        for place in places or (0,):
            _touch(notes, kind, args[place])

    return look


def _touch(notes: _Notes, kind: str, path: object) -> None:
    """Files of the workspace are listed by the host, which sees what became of them; others matter only here."""
    if not isinstance(path, (str, bytes)):
        return  # an open file, which was noted when it was opened
    full = os.path.abspath(os.fsdecode(path))
    if not f"{full}/".startswith(_QUIET_PLACES):
        notes.add("file", f"{kind} {full}")


def _shown(value: object) -> str:
    kind = type(value)
    if kind in (str, int):
        return str(value)
    if kind is bytes:
        return os.fsdecode(value)  # type: ignore[arg-type]
    if kind in (tuple, list):
        return " ".join(_shown(one) for one in value[:20])  # type: ignore[index]
    return f"<{kind.__name__}>"


_LOOKS = {
    "socket.connect": _connect,
    "socket.sendto": _connect,
    "socket.sendmsg": lambda notes, args: _connect(notes, args) if args[1] is not None else None,
    "socket.getaddrinfo": _resolve,
    "socket.gethostbyname": _resolve,
    "socket.gethostbyaddr": _resolve,
    "subprocess.Popen": _start,
    "os.system": _start,
    "os.exec": _start,
    "os.posix_spawn": _start,
    "pty.spawn": _start,
    "os.fork": lambda notes, _: None if _is_ours() else notes.add("process", "fork"),
    "open": _open,
    "os.remove": _change("remove"),
    "os.rename": _change("rename", 0, 1),
    "os.link": _change("link", 1),
    "os.symlink": _change("link", 1),
    "os.mkdir": _change("make"),
    "os.rmdir": _change("remove"),
    "os.chmod": _change("change"),
    "os.chown": _change("change"),
    "os.utime": _change("change"),
    "os.truncate": _change("truncate"),
    "shutil.rmtree": _change("remove"),
    "ctypes.dlopen": lambda notes, args: notes.add("native code", _shown(args[0])),
}

_notes = _listen()


def effects() -> dict[str, object]:
    """Return what was attempted, in the order of the first attempt."""
    found = [{"kind": kind, "what": what, "count": count} for (kind, what), count in _notes.found.items()]
    return {"attempts": found, "omitted": _notes.omitted}
