import numpy as np

prices = np.array([[1.0, 2.0], [10.0, 40.0]])  # a row for each day, a column for each share
print((prices[:, 1] / prices[:, 0]).tolist())
