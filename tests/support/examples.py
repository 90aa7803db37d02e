"""Create arguments for mapped functions, and the examples of a batch for the loop."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from tinygrad import Device, Tensor, nn
from tinygrad.dtype import DType, _from_np_dtype
from tinygrad.uop.ops import UOp

Layer = TypeVar("Layer")


def in_memory(x: np.ndarray[Any, Any], dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Return `Tensor(x).realize()` with the same graph, but without scheduling, which takes longer than most tests.

    Args:
        x: The elements.
        dtype: The dtype of the tensor if numpy does not have it; `x` then holds its bits.
        device: The device; the default is tinygrad's default device.
    """
    if not x.size:
        return Tensor(x, dtype=dtype, device=device).realize()
    if Device.canonicalize(device).split(":")[0] not in ("CPU", "PYTHON"):  # a GPU has its own memory
        there = Tensor(x, device=device)
        return (there if dtype is None else there.bitcast(dtype)).realize()
    u = UOp.new_buffer(Device.canonicalize(device), x.size, _from_np_dtype(x.dtype) if dtype is None else dtype)
    buffer: Any = u.buffer.ensure_allocated()
    buffer.as_memoryview(force_zero_copy=True)[:] = np.ascontiguousarray(x).reshape(-1).view(np.uint8).data
    return Tensor(u.reshape(x.shape))


def normals(*shape: int, seed: int = 0) -> Tensor:
    """Return normal samples, the same for the same seed and shape."""
    return in_memory(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def of_ones(layer: Layer) -> Layer:
    """Set all parameters of a layer to ones in memory: computations would otherwise also sample the initial weights."""
    for x in nn.state.get_parameters(layer):
        x.replace(in_memory(np.ones(x.shape, np.float32)))
    return layer


def examples(xs: Tensor) -> list[Tensor]:
    """Return each example in its own memory: a computation on `xs[i]` is a different kernel for each `i`."""
    each = [x.clone() for x in xs]
    Tensor.realize(*each)
    return each
