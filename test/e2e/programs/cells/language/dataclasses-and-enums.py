from dataclasses import dataclass, field, asdict
from enum import Enum, auto
from typing import NamedTuple

class Color(Enum):
    RED = auto()
    BLUE = auto()

@dataclass(order=True)
class Item:
    name: str
    price: float = 0.0
    tags: list[str] = field(default_factory=list)

items = [Item("tea", 3.0, ["hot"]), Item("cake", 5.5), Item("a very long name to make the line wrap", 1.25, ["x", "y"])]
items
# %%
Item("tea")
# %%
asdict(items[0]), Color.RED, list(Color)
# %%
class Point(NamedTuple):
    x: int
    y: int = 0

Point(1), Point(1)._asdict(), Color
# %%
Item
# %%
Item("x").missing
