"""Devices, symbolic sizes and functions: what else tinygrad's documentation shows."""

from typing import assert_type

from tinygrad import Device, Tensor, UOp, Variable, dtypes, function
from tinygrad.helpers import getenv

assert_type(Device.DEFAULT, str)
pair = tuple(f"{Device.DEFAULT}:{i}" for i in range(2))
sharded = Tensor.arange(8).shard(pair, axis=0)
assert_type(sharded.device, str | tuple[str, ...] | None)
assert sharded.sum().item() == 28
assert_type(Tensor.ones(3, device=Device.DEFAULT).to(Device.DEFAULT), Tensor)

size: UOp = Variable("size", 1, 8).bind(3)
assert Tensor.ones(size, 4).sum().item() == 12


@function
def square(x: Tensor) -> Tensor:
    return x * x


assert_type(square(Tensor([1.0, 2.0])), Tensor)
assert square(Tensor([1.0, 2.0])).tolist() == [1.0, 4.0]
assert dtypes.is_float(dtypes.float32) and getenv("TINYGRAD_STUBS_EXAMPLE", 3) == 3
