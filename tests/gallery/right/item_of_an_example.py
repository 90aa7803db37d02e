from tinygrad import Tensor

from branded import vmap

table = Tensor([10.0, 20.0, 30.0])
print(vmap(lambda i: table[i])(Tensor([2, 0])).tolist())
