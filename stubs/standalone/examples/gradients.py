"""The gradient of a matrix product, the first program of tinygrad's README."""

from typing import assert_type

from tinygrad import Tensor

x = Tensor([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
y = Tensor([[2.0, 0, -2.0]])
z = y.matmul(x).sum()
assert_type(z, Tensor)

z.backward()
assert x.grad is not None and y.grad is not None
assert_type(x.grad, Tensor)
assert x.grad.tolist() == [[2.0, 2.0, 2.0], [0.0, 0.0, 0.0], [-2.0, -2.0, -2.0]]
assert y.grad.tolist() == [[1.0, 1.0, 1.0]]

dx, dy = y.matmul(x).square().sum().gradient(x, y)
assert_type(dx, Tensor)
assert dy.shape == (1, 3)
