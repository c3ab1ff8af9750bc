import numpy as np
from scipy import integrate, optimize, stats

result = optimize.minimize(lambda v: (v[0] - 1) ** 2 + (v[1] + 2) ** 2, x0=[0, 0])
print(result.success, result.x.round(4))
# %%
stats.ttest_ind([1, 2, 3, 4, 5], [2, 3, 4, 5, 9])
# %%
integrate.quad(np.sin, 0, np.pi)
# %%
optimize.root_scalar(lambda t: t**3 - 2, bracket=[0, 2])
# %%
np.linalg.inv(np.zeros((2, 2)))
