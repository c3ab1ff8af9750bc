"""Gives data that JSON can hold by dots: `context.TYPE.key.field`.

Notebooks carry the text of this file, so that it works in a plain kernel: standard library alone.
"""

import json
from collections.abc import Iterator
from typing import Any, NoReturn

LISTED_NAMES = 20


class Context:
    """A JSON object whose members are attributes, and items for names that are no identifiers."""

    __slots__ = ("_members", "_path")

    def __init__(self, members: dict[str, Any], path: str = "context") -> None:
        object.__setattr__(self, "_members", members)
        object.__setattr__(self, "_path", path)

    def __getattr__(self, name: str) -> Any:
        """Return a member; say what there is if there is none of that name."""
        if name not in self._members:
            raise AttributeError(self._missing(name))
        return _shown(self._members[name], f"{self._path}.{name}")

    def __getitem__(self, name: str) -> Any:
        """Return a member by any name that JSON allows."""
        if name not in self._members:
            raise KeyError(self._missing(name))
        return _shown(self._members[name], f"{self._path}[{name!r}]")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse: what the context says holds for everybody who reads it."""
        raise AttributeError(f"{self._path} cannot be changed; {self._path}.to_dict() is a copy that can")

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse, for the same reason."""
        self.__setattr__(name, None)

    def __contains__(self, name: object) -> bool:
        """Tell whether there is a member of that name."""
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        """Go through the names."""
        return iter(self._members)

    def __len__(self) -> int:
        """Count the members."""
        return len(self._members)

    def __eq__(self, other: object) -> bool:
        """Compare with another context or with a dictionary."""
        return self._members == (other._members if isinstance(other, Context) else other)

    __hash__ = None  # type: ignore[assignment]

    def __dir__(self) -> list[str]:
        """List what can follow a dot."""
        return [*(name for name in self._members if name.isidentifier()), "to_dict"]

    def __reduce__(self) -> tuple[Any, ...]:
        """Let `copy` and `pickle` make it anew, since they could not change it either."""
        return Context, (self._members, self._path)

    def __repr__(self) -> str:
        """Say what there is."""
        return f"<{self._path}: {self._names()}>"

    def to_dict(self) -> dict[str, Any]:
        """Return a copy in plain dictionaries and lists."""
        return json.loads(json.dumps(self._members))

    def _missing(self, name: object) -> str:
        return f"{self._path} has no {name!r}; it has: {self._names()}"

    def _names(self) -> str:
        names = [str(name) for name in self._members]
        more = f" and {len(names) - LISTED_NAMES} more" if len(names) > LISTED_NAMES else ""
        return ", ".join(names[:LISTED_NAMES]) + more or "nothing"


def load_context(path: str) -> Context:
    """Read a JSON file that holds an object."""
    with open(path, encoding="utf-8") as file:
        members = json.load(file)
    if not isinstance(members, dict):
        raise ValueError(f"{path} holds {type(members).__name__}, not a JSON object")
    return Context(members)


def _shown(value: Any, path: str) -> Any:
    if isinstance(value, dict):
        return Context(value, path)
    if isinstance(value, list):
        return [_shown(item, f"{path}[{index}]") for index, item in enumerate(value)]
    return value
