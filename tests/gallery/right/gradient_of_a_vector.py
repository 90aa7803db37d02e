from tinygrad import Tensor

from branded import grad, vmap

print(vmap(grad(lambda x: (x * x).sum()))(Tensor([[1.0, 2.0], [3.0, 4.0]])).tolist())
