import numpy as np

heights, widths, scales = np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([2.0])
print((heights * widths * scales).tolist())
