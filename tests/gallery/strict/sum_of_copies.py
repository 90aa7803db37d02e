from tinygrad import Tensor

from branded import psum, vmap

X = Tensor([1.0, 2.0, 3.0])
totals = vmap(lambda x: psum(x, "i"), axis_name="i", strict=True)(X)
print(totals.sum().item())
