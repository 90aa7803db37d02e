import numpy as np

X, lengths = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([2, 1])
print(X[:, :lengths].sum(-1).tolist())
