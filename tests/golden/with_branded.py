"""The functions that the programs call, for branded and tinygrad, by the names of JAX and its numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.helpers import disable_gc

import branded
from tests.golden import registry
from tests.support import by_numpy
from tests.support.by_numpy import reads
from tests.support.examples import in_memory


def __getattr__(name: str) -> Any:
    return getattr(branded if hasattr(branded, name) else Tensor, name)


def array(x: Any) -> Tensor:
    found = registry.array(x)
    return in_memory(found) if found.ndim else Tensor(found)


def nested(x: Any) -> Tensor:
    return branded.array(x)


def some(*shape: int) -> Tensor:
    return array(registry.some(*shape))


def arange(n: int) -> Tensor:
    return Tensor.arange(n, dtype=dtypes.int32)


def zeros(shape: Any) -> Tensor:
    return Tensor.zeros(shape, dtype=dtypes.float32)


def ones(shape: Any) -> Tensor:
    return Tensor.ones(shape, dtype=dtypes.float32)


def eye(n: int) -> Tensor:
    return Tensor.eye(n, dtype=dtypes.float32)


def to_float(x: Tensor) -> Tensor:
    return x.cast(dtypes.float32)


def to_int(x: Tensor) -> Tensor:
    return x.cast(dtypes.int32)


def where(c: Tensor, x: Any, y: Any) -> Tensor:
    return c.where(x, y)


def stack(xs: Any, axis: int = 0) -> Tensor:
    return Tensor.stack(*xs, dim=axis)


def concat(xs: Any, axis: int = 0) -> Tensor:
    return Tensor.cat(*xs, dim=axis)


def transpose(x: Tensor, axes: Any) -> Tensor:
    return x.permute(*axes)


def einsum(formula: str, *xs: Tensor) -> Tensor:
    return Tensor.einsum(formula, *xs)


def flip(x: Tensor, axis: int) -> Tensor:
    return x.flip(axis)


def sort(x: Tensor, axis: int = -1, descending: bool = False) -> Tensor:
    return x.sort(axis, descending)[0]


def var(x: Tensor, axis: int | None = None) -> Tensor:
    return x.var(axis, correction=0)


def std(x: Tensor, axis: int | None = None) -> Tensor:
    return x.std(axis, correction=0)


def norm(x: Tensor, axis: int | None = None) -> Tensor:
    return x.square().sum(axis).sqrt()


def one_hot(i: Tensor, n: int) -> Tensor:
    return i.one_hot(n).cast(dtypes.float32)


def put(x: Tensor, at: Any, value: Any) -> Tensor:
    y = x.clone()
    with disable_gc():  # tinygrad's setitem visits all tensors, and fails if one of them is collected meanwhile
        y[at] = value
    return y


def conv(x: Tensor, w: Tensor, stride: int = 1, padding: int = 0) -> Tensor:
    return x.conv2d(w, stride=stride, padding=padding)


def max_pool(x: Tensor, size: int) -> Tensor:
    return x.max_pool2d((size, size))


def results(x: Any) -> dict[str, np.ndarray]:
    """Return the elements by path: evaluated by numpy from the graph, or by kernels in a compiled test."""
    leaves = list(registry.flat(x))
    tensors = [leaf for _, leaf in leaves if isinstance(leaf, Tensor)]
    if by_numpy.is_compiled:
        Tensor.realize(*tensors)
    numbers = iter(reads(tensors))
    return {path: next(numbers) if isinstance(leaf, Tensor) else np.asarray(leaf) for path, leaf in leaves}
