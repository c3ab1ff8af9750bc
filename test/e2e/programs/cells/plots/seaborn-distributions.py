import seaborn as sns
import matplotlib.pyplot as plt
import pandas as pd
import numpy as np

sns.set_theme(style="whitegrid")
rng = np.random.default_rng(2)
tips = pd.DataFrame({"day": rng.choice(["Thu", "Fri"], 80), "bill": rng.gamma(5, 4, 80), "smoker": rng.choice(["yes", "no"], 80)})
ax = sns.boxplot(data=tips, x="day", y="bill", hue="smoker")
ax.set_title("Bills")
plt.show()
# %%
sns.heatmap(tips[["bill"]].assign(half=tips.bill / 2).corr(), annot=True)
# %%
g = sns.pairplot(tips.assign(tip=tips.bill * 0.1), hue="smoker", height=1.5)
# %%
sns.histplot(tips.bill, kde=True)
plt.xlabel("Bill (€)")
