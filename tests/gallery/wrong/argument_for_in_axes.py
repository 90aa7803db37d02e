from tinygrad import Tensor

from branded import vmap

X = Tensor([[1.0, 2.0], [3.0, 4.0]])
sums = vmap(lambda x: x.sum(), X)
print(sums.tolist())
