"""Functions of Python's math that only multiply."""

import math
from typing import assert_type

from tinygrad import Tensor

from branded import vmap

x, y = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1.0, 2.0])

# --- the product of tensors
assert_type(math.prod([y, y], start=y), Tensor)
assert_type(vmap(lambda a: math.prod([a, y]))(x), Tensor)
assert_type(vmap(lambda a: math.prod([a, a], start=a))(x), Tensor)

# --- the product of numbers
assert_type(vmap(lambda a: a * math.prod(a.shape))(x), Tensor)
assert_type(math.prod([2, 3]), int)
