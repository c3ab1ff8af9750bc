"""Classes of named fields: what we need of `dataclasses`, whose import takes longer than all else that a zygote begins with."""

from __future__ import annotations


class Fields:
    """Fields are the annotations of the class, in that order; what has a default may be left out."""

    _names: tuple[str, ...] = ()
    _defaults: dict[str, object] = {}

    def __init_subclass__(cls) -> None:
        cls._names = tuple(cls.__annotations__)
        cls._defaults = {name: vars(cls)[name] for name in cls._names if name in vars(cls)}

    def __init__(self, *values: object, **named: object) -> None:
        fields = {**self._defaults, **dict(zip(self._names, values)), **named}
        if len(values) + len(named) > len(self._names) or fields.keys() != set(self._names):
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(self._names)}")
        self.__dict__.update(fields)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


class Record(Fields):
    """Such fields that stay as they are made; equal where all of them are."""

    def replaced(self, **changes: object) -> Record:
        """The same with other values for some fields."""
        return type(self)(**{**vars(self), **changes})

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} does not change: {name}")
