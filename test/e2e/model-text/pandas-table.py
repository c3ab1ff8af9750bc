import pandas as pd

df = pd.DataFrame({"region": ["north", "south", "east"], "sales": [19.9, 5.5, 7.0]})
print(df)
df.groupby("region").sum()
