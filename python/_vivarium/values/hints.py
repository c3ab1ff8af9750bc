"""Names for annotations, which nobody evaluates: `typing`, where they come from, is slow to load."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, Protocol, TypedDict
else:
    Any = NoReturn = Protocol = object
    TypedDict = dict
