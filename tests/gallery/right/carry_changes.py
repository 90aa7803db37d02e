from tinygrad import Tensor

from branded import scan, vmap

X, zero = Tensor([[0.5, 0.25], [1.5, 2.5]]), Tensor(0.0)
print(vmap(lambda x: scan(lambda total, t: (total + t, None), zero, x)[0])(X).tolist())
