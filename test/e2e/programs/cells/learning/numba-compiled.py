import numba
import numpy as np

@numba.njit
def count_below(values, limit):
    n = 0
    for v in values:
        if v < limit:
            n += 1
    return n

count_below(np.arange(1000.0), 250.0)
# %%
@numba.njit
def broken(x):
    return x + "a"

try:
    broken(1)
except numba.TypingError as e:
    print(type(e).__name__, "No implementation of function" in str(e))
