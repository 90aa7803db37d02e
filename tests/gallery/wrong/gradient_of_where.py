from tinygrad import Tensor

from branded import grad, vmap

root = vmap(grad(lambda x: (x > 0).where(x.sqrt(), 0 * x)))
print(root(Tensor([4.0, 0.0])).tolist())
