import warnings

import numpy as np
import pandas as pd

warnings.warn("the last month is incomplete")
print(np.array([1.0, 2.0]) / np.array([0.0, 1.0]))
df = pd.DataFrame({"day": ["2024-01-31", "31/01/2024"]})
pd.to_datetime(df["day"], dayfirst=True, errors="coerce").isna().sum()
