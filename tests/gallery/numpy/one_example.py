import numpy as np


def brightness(images):
    return np.array([image.max() for image in images])


image = np.array([[0.0, 0.5], [0.5, 1.0]])
print(brightness(image).tolist())
