import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(0, 4 * np.pi, 400)
figure, axes = plt.subplots(figsize=(6, 3))
axes.plot(x, np.sin(x) * np.exp(-x / 8), label="damped")
axes.plot(x, np.exp(-x / 8), "--", label="envelope")
axes.legend()
figure.savefig("plot.png", dpi=120)
print("saved plot.png")
