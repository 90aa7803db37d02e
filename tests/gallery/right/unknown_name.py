from tinygrad import Tensor

from branded import psum, vmap

print(vmap(lambda x: x / psum(x, "users"), axis_name="users")(Tensor([1.0, 3.0])).tolist())
