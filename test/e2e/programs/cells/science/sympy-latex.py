import sympy as sp

x, y = sp.symbols("x y")
expr = (x + 1) ** 3 / (x**2 - 1)
sp.simplify(expr)
# %%
sp.latex(sp.Integral(sp.exp(-x**2), (x, -sp.oo, sp.oo)))
# %%
solution = sp.solve([x + y - 3, x - y - 1], [x, y])
solution
# %%
sp.Matrix([[1, x], [y, 2]]).det()
# %%
sp.pprint(sp.diff(sp.sin(x) * sp.exp(x), x))
[sp.factorint(360), sp.Rational(1, 3) + sp.Rational(1, 6)]
# %%
sp.init_printing(use_latex=True)
sp.sqrt(x) + sp.pi
