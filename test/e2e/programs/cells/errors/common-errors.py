1 / 0
# %%
undefined_name
# %%
[1, 2][5]
# %%
{"a": 1}["b"]
# %%
"a" + 1
# %%
int("x")
# %%
None.upper()
# %%
import no_such_module
# %%
from math import no_such_name
# %%
open("missing.txt")
# %%
assert 1 == 2, "numbers differ"
# %%
raise KeyboardInterrupt
# %%
a, b = 1, 2, 3
# %%
len(5)
# %%
print(undefned := 3, undefnde)
# %%
def f(x): return x
f(1, 2)
# %%
f"{1:zz}"
