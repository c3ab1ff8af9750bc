from functools import lru_cache, partial, reduce
from itertools import accumulate, chain, groupby, islice

def counter():
    n = 0
    def step():
        nonlocal n
        n += 1
        return n
    return step

step = counter()
[step() for _ in range(3)]
# %%
def fib():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b

list(islice(fib(), 10))
# %%
@lru_cache(maxsize=None)
def ways(n):
    return 1 if n < 2 else ways(n - 1) + ways(n - 2)

ways(50), ways.cache_info()
# %%
step
# %%
(n * n for n in range(3))
# %%
partial(int, base=2), map(str, [1]), range(5), zip([1], [2]), reversed([1]), enumerate("a"), slice(1, 2)
# %%
reduce(lambda a, b: a * b, range(1, 11)), list(accumulate([1, 2, 3])), {k: list(g) for k, g in groupby("aab")}
# %%
ways
# %%
next(iter([]))
