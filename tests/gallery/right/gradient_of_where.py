from tinygrad import Tensor

from branded import cond, grad, vmap

root = vmap(grad(lambda x: cond(x > 0, lambda x: x.sqrt(), lambda x: 0 * x, x)))
print(root(Tensor([4.0, 0.0])).tolist())
