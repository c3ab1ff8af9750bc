import pandas as pd

url = "http://localhost:8000/countries.html"
tables = pd.read_html(url)
print(len(tables), "tables")
df = tables[0]
df["density"] = (df["Population"] / df["Area"]).round(1)
df.sort_values("density", ascending=False)
# %%
pd.read_csv("http://localhost:8000/prices.csv", parse_dates=["date"]).dtypes
