from tinygrad import Tensor

from branded import vmap

X, lengths = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), Tensor([2, 1])
print(vmap(lambda x, n: x[:n].sum())(X, lengths).tolist())
