"""The marks of variables, and an index from the objects that they were taken from back to the variables."""

from __future__ import annotations

from _vivarium.ledger.marks import Mark


class Marks:
    """The last mark of each variable that can change in place.

    An id is reused once its object is gone. Then the index names a variable too many, never one too few.
    """

    def __init__(self) -> None:
        self._marks: dict[str, Mark] = {}
        self._names: dict[int, str | set[str]] = {}

    def __len__(self) -> int:
        return len(self._marks)

    def __contains__(self, name: object) -> bool:
        return name in self._marks

    def names(self) -> list[str]:
        """Return the names of all variables that have a mark."""
        return list(self._marks)

    def digest(self, name: str) -> int | None:
        """Return the last fingerprint of a variable, or None if it has none."""
        mark = self._marks.get(name)
        return None if mark is None else mark.digest

    def set(self, name: str, mark: Mark) -> None:
        """Keep the mark of a variable."""
        self.drop(name)
        self._marks[name] = mark
        names = self._names
        for part in mark.parts:
            others = names.get(part)
            if others is None:
                names[part] = name
            elif type(others) is set:
                others.add(name)
            elif others != name:
                names[part] = {others, name}  # type: ignore[arg-type]

    def drop(self, name: str) -> None:
        """Forget the mark of a variable."""
        mark = self._marks.pop(name, None)
        for part in mark.parts if mark is not None else ():
            others = self._names.get(part)
            if type(others) is set:
                others.discard(name)
            elif others == name:
                del self._names[part]

    def sharing(self, ids: set[int]) -> dict[str, None]:
        """Return the names of the variables that consist, in part, of one of these objects."""
        index = self._names
        found: dict[str, None] = {}
        for one in ids if len(ids) < len(index) else [known for known in index if known in ids]:
            names = index.get(one)
            if names is not None:
                found.update(dict.fromkeys((names,) if type(names) is str else names))
        return found
