import numpy as np

a = np.arange(12).reshape(3, 4)
a
# %%
a.mean(axis=0), a[a % 2 == 0], a.T.shape
# %%
np.set_printoptions(precision=3, suppress=True)
np.random.seed(0)
np.random.rand(3, 3)
# %%
A = np.array([[2.0, 1.0], [1.0, 3.0]])
w, v = np.linalg.eigh(A)
print(w)
v
# %%
with np.errstate(divide="warn"):
    np.array([1.0, 0.0]) / np.array([0.0, 0.0])
# %%
a @ a
# %%
{"mean": a.mean(), "arr": a[0], "list": [np.float64(1.5), np.int32(3)]}
