from decimal import Decimal, getcontext
from fractions import Fraction
import math

math.factorial(60)
# %%
2 ** 1000 % 10**9, len(str(2 ** 5000))
# %%
getcontext().prec = 40
Decimal(1) / Decimal(7), Fraction(3, 12)
# %%
0.1 + 0.2, Decimal("0.1") + Decimal("0.2"), 1e308 * 10, float("nan"), -0.0, 1 + 2j
# %%
10 ** 5000
# %%
str(10 ** 5000)
# %%
hex(255), f"{1234567.891:,.2f}", round(2.5), divmod(-7, 2), math.isqrt(10**20)
