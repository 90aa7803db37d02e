from tinygrad import Tensor

from branded import vmap

total = Tensor.zeros(2)
total = total + vmap(lambda x: x * x)(Tensor([[1.0, 2.0], [3.0, 4.0]])).sum(0)
print(total.tolist())
