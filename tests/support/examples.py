"""What mapped functions are given, and the examples of a batch for the loop that they are compared with."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from tinygrad import Device, Tensor, nn
from tinygrad.dtype import DType, _from_np_dtype
from tinygrad.uop.ops import UOp

Layer = TypeVar("Layer")


def in_memory(x: np.ndarray[Any, Any], dtype: DType | None = None, device: str | None = None) -> Tensor:
    """`Tensor(x).realize()`, with the same graph: nothing is scheduled for it, which takes longer than most tests.

    Args:
        x: Numbers.
        dtype: That of the tensor, where numpy has none that is it: the bits of `x` are its own.
        device: Where, if not where tensors are made.
    """
    if not x.size:
        return Tensor(x, dtype=dtype, device=device).realize()
    if Device.canonicalize(device).split(":")[0] not in ("CPU", "PYTHON"):  # a GPU has memory of its own
        there = Tensor(x, device=device)
        return (there if dtype is None else there.bitcast(dtype)).realize()
    u = UOp.new_buffer(Device.canonicalize(device), x.size, _from_np_dtype(x.dtype) if dtype is None else dtype)
    buffer: Any = u.buffer.ensure_allocated()
    buffer.as_memoryview(force_zero_copy=True)[:] = np.ascontiguousarray(x).reshape(-1).view(np.uint8).data
    return Tensor(u.reshape(x.shape))


def of_ones(layer: Layer) -> Layer:
    """A layer whose parameters are ones, in memory: each computation goes through all that is yet to be drawn."""
    for x in nn.state.get_parameters(layer):
        x.replace(in_memory(np.ones(x.shape, np.float32)))
    return layer


def examples(xs: Tensor) -> list[Tensor]:
    """Each in memory of its own: what is done with `xs[i]` is another kernel for each `i`."""
    each = [x.clone() for x in xs]
    Tensor.realize(*each)
    return each
