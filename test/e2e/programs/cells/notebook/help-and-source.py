def area(r, pi=3.14159):
    """Area of a circle."""
    return pi * r ** 2

class Shape:
    """A shape."""
    sides = 0
    def __init__(self, name): self.name = name

area?
# %%
area??
# %%
Shape?
# %%
?len
# %%
numbers = [1, 2, 3]
numbers?
# %%
no_such_name?
# %%
import inspect
print(inspect.getsource(area))
# %%
help(area)
