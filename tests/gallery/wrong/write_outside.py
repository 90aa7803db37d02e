from tinygrad import Tensor

from branded import vmap

total = Tensor.zeros(2).contiguous()
vmap(lambda x: total.assign(total + x * x))(Tensor([[1.0, 2.0], [3.0, 4.0]]))
print(total.tolist())
