from tinygrad import Tensor

from branded import vmap

print(vmap(lambda x: x if x > 0 else -x)(Tensor([1.0, -2.0])).tolist())
