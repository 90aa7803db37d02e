import numpy as np

noise = [0 * x + np.random.default_rng(0).normal() for x in np.array([1.0, 2.0, 3.0])]
print(len(set(noise)))  # how many different numbers
