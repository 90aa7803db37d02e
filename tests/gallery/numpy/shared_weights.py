import numpy as np

w, X = np.array([1.0, 10.0]), np.array([[1.0, 2.0], [3.0, 4.0]])
print((w[:, None] * X).sum(-1).tolist())
