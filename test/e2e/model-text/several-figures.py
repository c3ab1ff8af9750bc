import matplotlib.pyplot as plt

for name in ("north", "south"):
    print("drawing", name)
    plt.figure()
    plt.plot([1, 2], [2, 1])
    plt.title(name)
fig, axes = plt.subplots(1, 2)
axes[0].hist([1, 2, 2, 3])
axes[1].scatter([1, 2], [2, 1])
print("all are open")
