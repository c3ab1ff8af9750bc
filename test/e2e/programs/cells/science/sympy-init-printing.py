from sympy import *
init_printing()
x = symbols('x')
Integral(sqrt(1/x), x)
# %%
[x**2, x/3]
# %%
series(cos(x), x, 0, 6)
