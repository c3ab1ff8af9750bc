import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.inspection import permutation_importance

X, y = make_classification(n_samples=200, n_features=5, n_informative=2, random_state=1)
rf = RandomForestClassifier(n_estimators=20, random_state=1).fit(X, y)
importance = pd.Series(rf.feature_importances_, index=[f"f{i}" for i in range(5)]).sort_values(ascending=False)
importance.round(3)
# %%
rf.get_params()
# %%
rf
