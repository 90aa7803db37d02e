import numpy as np

np.random.seed(0)
noise = 0 * np.array([1.0, 2.0, 3.0]) + np.random.randn()
print(len(set(noise.tolist())))  # how many different numbers
