import numpy as np

queries, documents = np.array([1.0, 2.0]), np.array([10.0, 30.0])
scores = documents[:, None] - queries
print(scores.argmax(1).tolist())  # the best document of each query
