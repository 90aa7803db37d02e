import numpy as np

users = np.array([[1.0, 0.0], [0.0, 1.0]])
items = np.array([[2.0, 3.0], [4.0, 5.0]])
print((users * items).sum(-1).tolist())
