from tinygrad import Tensor

from branded import vmap

X, labels = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([3.0, 7.0])
w = Tensor([[1.0, 1.0]])
predictions = vmap(lambda x: w @ x)(X)
print((predictions - labels).square().mean().item())
