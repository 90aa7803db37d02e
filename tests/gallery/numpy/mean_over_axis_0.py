import numpy as np

X = np.array([[1.0, 10.0], [3.0, 30.0]])
print([(x - x.mean(0)).tolist() for x in X])
