"""Gather and scatter by index along the last axis, on the CPU: each is the transpose of the other.

Each is one call with one step for each entry; tinygrad's operations compare each position with each index.
"""

from __future__ import annotations

import functools

from tinygrad.uop.ops import UOp

from branded.backends.cpu.linalg import host_kernels
from branded.backends.cpu.linalg.along import along
from branded.callbacks.host import DifferentiableHost, batch_of, sizes
from branded.tinygrad_compat.lazy_numpy import np


def gather(x: UOp, indices: UOp) -> UOp:
    """Return the entries of `x`, `[..., n]`, at `indices`, `i32[..., k]`; 0 for an index out of range."""
    return _GATHER.apply((*batch_of(x, indices), sizes(indices)[-1]), x.dtype, x, indices)


def scatter(x: UOp, indices: UOp, n: int) -> UOp:
    """Add the entries of `x`, `[..., k]`, at `indices` of a zero array `[..., n]`."""
    return _scatter(n).apply((*batch_of(x, indices), n), x.dtype, x, indices)


class Gather(DifferentiableHost):
    """The entries at given indices, linear in the entries."""

    def cotangent(self, u: UOp, ct: UOp) -> UOp:
        """Scatter to the same indices."""
        return scatter(ct, u.src[2], sizes(u.src[1])[-1])


class Scatter(DifferentiableHost):
    """The entries, added at given indices, linear in the entries."""

    def cotangent(self, u: UOp, ct: UOp) -> UOp:
        """Gather from the same indices."""
        return gather(ct, u.src[2])


@functools.lru_cache(maxsize=256)
def _scatter(n: int) -> Scatter:
    return Scatter("scatter", functools.partial(numpy_scatter, n=n), by_c=host_kernels.segments("sum"))


def numpy_gather(x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Compute the gather in NumPy, for all examples."""
    in_range = (indices >= 0) & (indices < x.shape[-1])
    return np.where(in_range, np.take_along_axis(x, np.where(in_range, indices, 0), -1), x.dtype.type(0))


def numpy_scatter(x: np.ndarray, indices: np.ndarray, n: int) -> np.ndarray:
    """Compute the scatter in NumPy, for all examples."""
    x, indices = np.broadcast_arrays(x, indices)
    out = np.zeros((*x.shape[:-1], n), x.dtype)
    in_range = (indices >= 0) & (indices < n)
    np.add.at(out, (*np.nonzero(in_range)[:-1], indices[in_range]), x[in_range])
    return out


_GATHER = Gather("gather", numpy_gather, by_c=along("gather"))
