import numpy as np

X = np.array([[1.0, 2.0], [3.0, 4.0]])
sums = np.vectorize(lambda x: x.sum(), X)
print(sums.tolist())
