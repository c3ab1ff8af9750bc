import pandas as pd
import numpy as np

rng = np.random.default_rng(0)
idx = pd.date_range("2024-01-01", periods=24 * 7, freq="h", tz="Europe/Berlin")
load = pd.Series(100 + 20 * np.sin(np.arange(len(idx)) * 2 * np.pi / 24) + rng.normal(0, 3, len(idx)), index=idx, name="load")
daily = load.resample("D").agg(["min", "mean", "max"]).round(1)
daily
# %%
load.rolling("6h").mean().tail(3).round(3)
# %%
print(load.idxmax(), load.index[0].tz_convert("UTC"))
load.between_time("08:00", "09:00").groupby(lambda t: t.day_name()).mean().round(2)
