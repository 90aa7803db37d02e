import numpy as np

total = np.zeros(2, int)
for t in np.array([[0.5, 0.25], [1.5, 2.5]]).T:
    total += t
print(total.tolist())
