import matplotlib.pyplot as plt

plt.plot([1, 2, 3], [3, 1, 2])
plt.title("Zigzag")
