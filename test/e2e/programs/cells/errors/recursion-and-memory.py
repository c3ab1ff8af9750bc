import sys

def down(n):
    return down(n + 1)

try:
    down(0)
except RecursionError as e:
    print(type(e).__name__, "maximum recursion depth" in str(e))
deep = []
for _ in range(200):
    deep = [deep]
str(deep).count("[")
# %%
loop = [1]
loop.append(loop)
loop
# %%
d = {}
d["self"] = d
d
