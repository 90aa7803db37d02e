from tinygrad import Tensor

from branded import fori_loop, vmap

power = vmap(lambda x, n: fori_loop(0, n, lambda i, out: out * x, x * 0 + 1))
print(power(Tensor([2.0, 3.0]), Tensor([3, 2])).tolist())
