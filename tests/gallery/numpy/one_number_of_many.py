import math

import numpy as np

X = np.array([[1.0, 3.0], [4.0, 5.0]])
print((X * math.sqrt(X.sum())).tolist())
