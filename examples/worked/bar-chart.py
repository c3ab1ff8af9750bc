import matplotlib.pyplot as plt

plt.bar(range(5), [3, 7, 2, 9, 5])
plt.savefig('chart.png')
