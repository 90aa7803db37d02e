from tinygrad import Tensor

from branded import psum, vmap

X = Tensor([1.0, 2.0, 3.0])
total = vmap(lambda x: psum(x, "i"), axis_name="i", out_axes=None)(X)
print(total.item())
