from tinygrad import Tensor

from branded import vmap

X = Tensor([[1.0, -2.0, 3.0], [4.0, -5.0, -6.0]])
print(vmap(lambda x: (x > 0).where(x, 0).sum())(X).tolist())
