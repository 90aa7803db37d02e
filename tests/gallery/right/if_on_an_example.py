from tinygrad import Tensor

from branded import vmap

print(vmap(lambda x: (x > 0).where(x, -x))(Tensor([1.0, -2.0])).tolist())
