"""Random things that programs do to the files of a directory."""

import os
import random
import shutil
import stat
from pathlib import Path

MOST_PATHS = 500


def change(root: Path, chance: random.Random) -> None:
    """Do one thing. What is not possible is left out."""
    paths = [Path(folder, name) for folder, folders, files in os.walk(root) for name in [*folders, *files]]
    path, other = chance.choice(paths), chance.choice(paths)
    new = (other if other.is_dir() else other.parent) / f"n{chance.randrange(30)}"
    actions = [
        lambda: path.write_text(str(chance.random())),
        lambda: _append(path, "more"),
        lambda: os.truncate(path, chance.randrange(5)),
        lambda: path.read_bytes(),
        lambda: path.unlink(),
        lambda: path.rename(new),
        lambda: os.replace(path, other),
        lambda: new.write_text("new"),
        lambda: new.mkdir(),
        lambda: (new / "a/b").mkdir(parents=True),
        lambda: new.symlink_to(other.name),
        lambda: os.link(path, new),
        lambda: path.chmod(chance.choice([0o600, 0o644, 0o700, 0o755])) if path.is_file() else None,
        lambda: os.utime(path, ns=(10**18, 10**18)),
        lambda: shutil.rmtree(path) if stat.S_ISDIR(path.lstat().st_mode) and chance.random() < 0.2 else None,
        lambda: shutil.copytree(path, new) if path.is_dir() and len(paths) < MOST_PATHS else None,
    ]
    try:
        chance.choice(actions)()
    except (OSError, shutil.Error):
        return


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)
