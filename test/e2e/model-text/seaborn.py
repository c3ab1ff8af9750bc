import pandas as pd
import seaborn as sns

df = pd.DataFrame({"x": [1, 2, 3, 4], "y": [2, 4, 5, 4], "kind": list("abab")})
sns.scatterplot(df, x="x", y="y", hue="kind")
