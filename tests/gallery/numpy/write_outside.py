import numpy as np

total = np.zeros(2)
total += np.array([[1.0, 2.0], [3.0, 4.0]]) ** 2
print(total.tolist())
