from tinygrad import Tensor

from branded import vmap

tens = vmap(lambda x: x * 10)(Tensor([1.0, 2.0]))
print(vmap(lambda y: tens + y)(Tensor([1.0, 2.0])).tolist())
