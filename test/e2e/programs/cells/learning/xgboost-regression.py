import xgboost as xgb
from sklearn.datasets import make_regression
from sklearn.metrics import root_mean_squared_error

X, y = make_regression(n_samples=300, n_features=6, noise=5, random_state=3)
booster = xgb.XGBRegressor(n_estimators=30, max_depth=3, random_state=3, n_jobs=1)
booster.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=10)
rmse = root_mean_squared_error(y[200:], booster.predict(X[200:]))
print(f"RMSE {rmse:.1f}")
# %%
{k: v for k, v in booster.get_params().items() if v is not None}
