from tinygrad import Tensor

from branded import vmap

lines = vmap(lambda slope, x: slope * x, in_axes=(0, None))
print(lines(Tensor([1.0, 2.0]), Tensor(3.0)).tolist())
