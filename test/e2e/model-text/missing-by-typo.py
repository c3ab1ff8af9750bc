import numpi
# %%
import scikit_learn
# %%
from sklearn.cross_validation import train_test_split
# %%
import matplotlib.pyplt as plt
