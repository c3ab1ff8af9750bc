"""Empties the temporary directories that an earlier interpreter of the session has left."""

from __future__ import annotations

import os
import stat

from _vivarium.worker.removal import remove

PLACES = ("/tmp", "/dev/shm")
_PREPARED = "/tmp/.matplotlib"  # made with /tmp


def empty_temporary(mounts: tuple[str, ...], places: tuple[str, ...] = PLACES, prepared: str = _PREPARED) -> None:
    """Remove everything that was not there when the session began. Runs behind the walls: names are hostile.

    What leads to one of `mounts` stays: it belongs to the owner of the session.
    """
    for place in places:
        for name in os.listdir(place):
            path = f"{place}/{name}"
            if path == prepared and stat.S_ISDIR(os.lstat(path).st_mode):
                continue
            if any(f"{os.path.normpath(mount)}/".startswith(f"{path}/") for mount in mounts):
                continue
            try:
                remove(path, place)
            except OSError:
                continue  # what cannot be removed still counts, and goes when the session is closed
