"""Names for annotations, which are never evaluated. Importing them from `typing` would be slow."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, Protocol, TypedDict
else:
    Any = NoReturn = Protocol = object
    TypedDict = dict
