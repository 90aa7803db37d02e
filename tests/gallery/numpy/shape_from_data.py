import numpy as np

X = np.array([[1.0, -2.0, 3.0], [4.0, -5.0, -6.0]])
print(X[X > 0].sum(-1).tolist())
