inventory = {}

def add(item, n=1):
    inventory[item] = inventory.get(item, 0) + n
# %%
add("apple", 3)
add("pear")
inventory
# %%
class Cart:
    items = []
    def __init__(self):
        self.lines = []
    def __len__(self):
        return len(self.lines)

cart = Cart()
cart
# %%
class Cart(Cart):
    def total(self):
        return sum(n for _, n in self.lines)

isinstance(cart, Cart), Cart().total(), Cart
# %%
add = None
del inventory
add is None, "inventory" in globals()
# %%
from typing import TypeVar, Optional
T = TypeVar("T")
def first(xs: list[T]) -> Optional[T]:
    return xs[0] if xs else None
first([]), first.__annotations__
# %%
match {"kind": "circle", "r": 2}:
    case {"kind": "circle", "r": r}:
        print("circle", r)
globals()["dynamic"] = 9
dynamic
