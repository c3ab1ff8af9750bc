import pandas as pd

df = pd.DataFrame({"price": [1, 2]})
print(df["price"].sum())
df["prise"].mean()
