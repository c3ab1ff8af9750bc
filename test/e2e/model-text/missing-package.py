import torch
# %%
import pandas as pd

pd.DataFrame({"a": [1]}).to_hdf("prices.h5", key="prices")
