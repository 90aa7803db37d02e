import numpy as np

losses = np.array([[1.0, 3.0, 5.0], [2.0, 4.0, 9.0]])  # 2 examples of 3 steps
shares = [steps.sum() / steps.shape[0] for steps in losses]
print(float(sum(shares)))  # the mean over the examples
