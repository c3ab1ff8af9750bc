import numpy as np

a = np.ones((3, 2))
b = np.ones((3, 2))
print(np.linalg.inv(a.T @ b))
