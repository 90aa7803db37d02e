"""`cumsum` on the CPU: one call of C instead of tinygrad's separate sum over all earlier entries for each entry.

Floats are added as float64, and each sum is rounded once.
"""

from __future__ import annotations

import functools

from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded.backends.cpu.linalg import host_kernels
from branded.callbacks.infallible import DifferentiableHost
from branded.graph.uops import tensor
from branded.tinygrad_compat.lazy_numpy import np


def cumsum(x: Tensor, axis: int) -> Tensor:
    """Return the cumulative sums along an axis."""
    return tensor(_sums(x.uop, x.ndim - 1 - axis % x.ndim))


def _sums(x: UOp, after: int) -> UOp:
    return _summing(after).apply(tuple(int(n) for n in x.shape), x.dtype, x)


class RunningSums(DifferentiableHost):
    """The cumulative sums along an axis."""

    def __init__(self, after: int) -> None:
        """Sum along the axis with `after` axes after it."""
        super().__init__("cumsum", functools.partial(numpy_cumsum, after=after), by_c=host_kernels.running(after))
        self.after = after

    def cotangent(self, u: UOp, ct: UOp) -> UOp:
        """Sum the cotangents from the other end."""
        axis = -1 - self.after
        return tensor(_sums(tensor(ct).flip(axis).uop, self.after)).flip(axis).uop


_summing = functools.cache(RunningSums)


def numpy_cumsum(x: np.ndarray, after: int) -> np.ndarray:
    """Compute the sums in NumPy, for all examples."""
    exact = np.cumsum(x, axis=-1 - after, dtype=np.float64 if x.dtype.kind == "f" else x.dtype)
    return exact.astype(x.dtype, copy=False)
