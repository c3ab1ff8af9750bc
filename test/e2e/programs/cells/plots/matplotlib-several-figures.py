import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(0, 2 * np.pi, 100)
plt.figure(figsize=(8, 3))
plt.plot(x, np.sin(x), label="sin")
plt.plot(x, np.cos(x), "--", label="cos")
plt.legend()
plt.show()
print("first done")
fig, axes = plt.subplots(1, 2, figsize=(8, 3))
axes[0].bar(["a", "b", "c"], [3, 1, 2])
axes[1].hist(np.random.default_rng(0).normal(size=200), bins=15)
fig.suptitle("Two panels")
plt.tight_layout()
plt.show()
print("second done")
# %%
plt.plot([1, 2, 3])
# %%
plt.plot([3, 2, 1]);
# %%
plt.savefig("empty.png")
plt.close()
# %%
fig, ax = plt.subplots()
ax.pie([1, 2, 3], labels=["x", "y", "z"], autopct="%1.0f%%")
fig.savefig("pie.png", dpi=50)
import os
os.path.exists("pie.png")
