import numpy as np


def power(x, n):
    out = 1.0
    for _ in range(n):
        out = out * x
    return out


print(power(np.array([2.0, 3.0]), np.array([3, 2])).tolist())
