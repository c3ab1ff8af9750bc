from tqdm import tqdm
total = 0
for i in tqdm(range(5), desc="adding"):
    total += i
total
# %%
from tqdm.auto import tqdm as auto
for i in auto(range(3)):
    pass
# %%
from tqdm.notebook import tqdm as notebook_tqdm
for i in notebook_tqdm(range(3)):
    pass
# %%
import pandas as pd
tqdm.pandas()
pd.Series([1, 2, 3]).progress_apply(lambda v: v * 2)
