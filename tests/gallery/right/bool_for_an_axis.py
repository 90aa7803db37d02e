from tinygrad import Tensor

from branded import vmap

X, w = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[1.0, 10.0], [100.0, 1000.0]])
print(vmap(lambda x, w: (x * w).sum(), in_axes=(0, None))(X, w).tolist())
