# %% a table of orders
import numpy as np
import pandas as pd

generator = np.random.default_rng(7)
orders = pd.DataFrame(
    {
        "customer": generator.integers(0, 500, 20_000),
        "region": generator.choice(["north", "south", "east", "west"], 20_000),
        "amount": generator.gamma(2.0, 40.0, 20_000),
        "day": pd.Timestamp("2025-01-01") + pd.to_timedelta(generator.integers(0, 365, 20_000), unit="D"),
    }
)
orders.head()
# %% its shape
orders.describe()
# %% totals by region
by_region = orders.groupby("region")["amount"].agg(["sum", "mean", "count"])
by_region
# %% totals by month
monthly = orders.set_index("day").sort_index()["amount"].resample("MS").sum()
monthly
# %% a pivot
pivot = orders.pivot_table(index=orders["day"].dt.month, columns="region", values="amount", aggfunc="mean")
pivot.round(1)
# %% a join
customers = pd.DataFrame({"customer": range(500), "segment": generator.choice(["new", "loyal"], 500)})
joined = orders.merge(customers, on="customer")
joined.groupby(["segment", "region"])["amount"].sum().unstack()
# %% a moving average
daily = orders.groupby("day")["amount"].sum()
smooth = daily.rolling(14).mean().dropna()
smooth.tail()
# %% the best customers
best = joined.groupby("customer")["amount"].sum().nlargest(10)
print(best.to_string())
# %% a figure
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(6, 4))
axes.plot(daily.index, daily.values, alpha=0.4)
axes.plot(smooth.index, smooth.values)
axes.set_title("Orders per day")
figure.savefig("orders.png")
plt.close(figure)
# %% a file, and back
joined.head(5000).to_csv("orders.csv", index=False)
again = pd.read_csv("orders.csv", parse_dates=["day"])
again.dtypes
