from tinygrad import Tensor

from branded import psum, vmap

X = Tensor([[1.0, 1.0], [3.0, 3.0]])
shares = vmap(lambda row: vmap(lambda x: x / psum(x, "i"), axis_name="i")(row), axis_name="i")
print(shares(X).tolist())  # shares of the whole table
