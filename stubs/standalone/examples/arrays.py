"""Tensors as in tinygrad's quick start: make them, compute with them, read them."""

from typing import assert_type

import numpy as np
from tinygrad import Tensor, dtypes

# make
ones = Tensor.full((2, 3), 1.0)
steps = Tensor.arange(6).reshape(2, 3)
data = Tensor(np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32))
halves = Tensor([[1, 2, 3], [4, 5, 6]], dtype=dtypes.float16)
noise = Tensor.randn(2, 3)
assert_type(ones, Tensor)

# compute
total = (data + steps * 2 - 1) / 3
assert_type(total, Tensor)
assert_type(2**data, Tensor)
assert_type(data == steps, Tensor)
assert_type(data > 2, Tensor)
assert_type(data @ ones.T, Tensor)
assert_type(data.matmul(ones.transpose()), Tensor)
assert_type((data > 3).where(data, 0), Tensor)
assert_type(data.maximum(steps).clamp(0, 4), Tensor)
assert_type(data.sum(axis=1).softmax(), Tensor)
assert_type(data[0, 1:], Tensor)
assert_type(data[:, None].expand(2, 4, 3), Tensor)
assert_type(data.max(axis=-1, keepdim=True), Tensor)
assert_type(Tensor.stack(data, ones, dim=1), Tensor)
assert_type(data.cat(ones, dim=0), Tensor)
assert_type(data.split(1), tuple[Tensor, ...])
assert_type(halves.cast(dtypes.int), Tensor)
assert_type(data.sort(dim=1), tuple[Tensor, Tensor])
assert_type(noise.dropout(0.5).relu().mean(), Tensor)

# change
grid = Tensor.zeros(2, 3).contiguous().realize()
grid[0] = 7
grid += 1
assert_type(grid.assign(ones), Tensor)

# read
assert_type(total.shape, tuple[int, ...])
assert_type(total.ndim, int)
assert total.shape == (2, 3) and total.numpy().shape == (2, 3)
rows: list[list[float]] = total.tolist()
assert len(rows) == len(total) == 2
for row in total:
    assert_type(row, Tensor)
assert isinstance(total.sum().item(), float)
