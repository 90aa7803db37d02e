import numpy as np

table = [10.0, 20.0, 30.0]
print(table[np.array([2, 0]).item()])
