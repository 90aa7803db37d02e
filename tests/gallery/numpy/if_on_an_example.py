import numpy as np

x = np.array([1.0, -2.0])
print((x if x > 0 else -x).tolist())
