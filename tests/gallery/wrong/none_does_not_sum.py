from tinygrad import Tensor

from branded import vmap

X = Tensor([1.0, 2.0, 3.0])
print(vmap(lambda x: x * x, out_axes=None)(X).tolist())
