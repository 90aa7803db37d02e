import numpy as np

X = np.array([[1.0, 2.0], [3.0, 4.0]])
print(X.sum(axis=True).tolist())
