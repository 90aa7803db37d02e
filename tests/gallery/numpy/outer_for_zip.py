import numpy as np

X, labels = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([3.0, 7.0])
w = np.array([[1.0, 1.0]])
predictions = X @ w.T
print(np.square(predictions - labels).mean().item())
