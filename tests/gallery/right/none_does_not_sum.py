from tinygrad import Tensor

from branded import psum, vmap

X = Tensor([1.0, 2.0, 3.0])
print(vmap(lambda x: psum(x * x, "batch"), axis_name="batch", out_axes=None)(X).tolist())
