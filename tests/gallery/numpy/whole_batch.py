import numpy as np

guesses, truths = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 5.0])
print([float(np.abs(guess - truths).sum()) for guess, truth in zip(guesses, truths, strict=True)])
