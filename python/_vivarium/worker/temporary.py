"""Empties the temporary directories that an earlier interpreter of the session has left."""

from __future__ import annotations

import os
import stat

from _vivarium.worker.removal import open_up, remove

PLACES = ("/tmp", "/dev/shm")
_PREPARED = "/tmp/.matplotlib"  # made with /tmp


def empty_temporary(shown: tuple[str, ...], places: tuple[str, ...] = PLACES, prepared: str = _PREPARED) -> None:
    """Remove everything that was not there when the session began. Runs behind the walls: names are hostile.

    What leads to one of `shown` stays: mounts belong to the owner of the session, and Python itself may lie in /tmp.
    """
    mounts = {os.path.normpath(one) for one in shown}
    for place in (one for one in places if one not in mounts):
        for name in _list(place):
            path = f"{place}/{name}"
            if path == prepared and stat.S_ISDIR(os.lstat(path).st_mode):
                continue
            if any(f"{os.path.normpath(one)}/".startswith(f"{path}/") for one in shown):
                continue
            try:
                remove(path, place)
            except OSError:
                continue  # what cannot be removed still counts, and goes when the session is closed


def _list(place: str) -> list[str]:
    """List a directory, also one that an earlier interpreter has locked: the next one needs it."""
    try:
        open_up(place)
        return os.listdir(place)
    except OSError:
        return []
