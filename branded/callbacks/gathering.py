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


def gather(x: UOp, at: UOp) -> UOp:
    """Return the entries of `x`, `[..., n]`, at the indices `at`, `i32[..., k]`; 0 for an index out of range."""
    return _GATHER.apply((*batch_of(x, at), sizes(at)[-1]), x.dtype, x, at)


def scatter(x: UOp, at: UOp, n: int) -> UOp:
    """Add the entries of `x`, `[..., k]`, at the indices `at` of a zero array `[..., n]`."""
    return _scatter(n).apply((*batch_of(x, at), n), x.dtype, x, at)


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


def numpy_gather(x: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Compute the gather in NumPy, for all examples."""
    known = (at >= 0) & (at < x.shape[-1])
    return np.where(known, np.take_along_axis(x, np.where(known, at, 0), -1), x.dtype.type(0))


def numpy_scatter(x: np.ndarray, at: np.ndarray, n: int) -> np.ndarray:
    """Compute the scatter in NumPy, for all examples."""
    x, at = np.broadcast_arrays(x, at)
    out = np.zeros((*x.shape[:-1], n), x.dtype)
    known = (at >= 0) & (at < n)
    np.add.at(out, (*np.nonzero(known)[:-1], at[known]), x[known])
    return out


_GATHER = Gather("gather", numpy_gather, by_c=along("gather"))
