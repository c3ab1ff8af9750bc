import matplotlib.pyplot as plt

plt.rcParams["axes.unicode_minus"] = False
plt.bar(["北京", "東京", "서울", "القاهرة"], [21, 37, 9, 10])
plt.title("城市人口 — 人口 😀")
plt.ylabel("百万 (मिलियन)")
plt.show()
# %%
plt.rcParams["font.sans-serif"] = ["SimHei"]
plt.plot([-1, 0, 1])
plt.title("中文标题")
plt.show()
