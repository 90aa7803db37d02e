import numpy as np

points = np.array([[0.0, 0.0], [3.0, 4.0]])
print(np.sqrt(np.square(points - points)).tolist())
