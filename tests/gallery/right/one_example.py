from tinygrad import Tensor

from branded import vmap

brightness = vmap(lambda image: image.max())
image = Tensor([[0.0, 0.5], [0.5, 1.0]])
print(brightness(image.unsqueeze(0)).tolist())
