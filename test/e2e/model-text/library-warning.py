import numpy as np
from sklearn.linear_model import LogisticRegression

x = np.arange(200.0).reshape(100, 2) * 1000
y = np.arange(100) % 3
model = LogisticRegression(max_iter=1).fit(x, y)
print(model.n_iter_)
