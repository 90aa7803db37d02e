import numpy as np

seen = 0


def double(x):
    global seen
    seen += 1
    return x * 2


doubled = double(np.array([1.0, 2.0, 3.0]))
print(seen)
