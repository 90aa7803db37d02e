from tinygrad import Tensor

from branded import vmap

X = Tensor([1.0, 2.0, 3.0])
doubled, ones = vmap(lambda x: (x * 2, 1))(X)
print(ones.sum().item())
