import numpy as np
import pandas as pd

rng = np.random.default_rng(7)
orders = pd.DataFrame(
    {
        "region": rng.choice(["north", "south", "east", "west"], size=10_000),
        "amount": rng.gamma(shape=2.0, scale=40.0, size=10_000).round(2),
        "returned": rng.random(10_000) < 0.08,
    }
)

summary = orders.groupby("region").agg(orders=("amount", "size"), revenue=("amount", "sum"), returned=("returned", "mean"))
summary["returned"] = (100 * summary["returned"]).round(1).astype(str) + " %"
print(summary.sort_values("revenue", ascending=False).to_string())
