import matplotlib.pyplot as plt

plt.bar(["north", "south"], [19.9, 5.5])
plt.title("Prices")
plt.savefig("prices.png")
plt.close()
with open("prices.csv", "w") as file:
    file.write("region,price\nnorth,19.9\n")
print("saved")
