"""Gather and scatter by index along the last axis, on the CPU: each is the transpose of the other.

Each is one call with one step for each entry; tinygrad's operations compare each position with each index.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence, Set

from tinygrad.uop.ops import UOp

from branded.backends.cpu.linalg import host_kernels
from branded.backends.cpu.linalg.along import along
from branded.callbacks.host import ShapeDtype, TotalHost, batch_of, call_on_graphs, sizes, summed_to
from branded.graph.primitive import results
from branded.tinygrad_compat.lazy_numpy import np


def gather(x: UOp, at: UOp) -> UOp:
    """Return the entries of `x`, `[..., n]`, at the indices `at`, `i32[..., k]`; 0 for an index out of range."""
    return call_on_graphs(_gather(), [ShapeDtype((*batch_of(x, at), sizes(at)[-1]), x.dtype)], [x, at])[0]


def scatter(x: UOp, at: UOp, n: int) -> UOp:
    """Add the entries of `x`, `[..., k]`, at the indices `at` of a zero array `[..., n]`."""
    return call_on_graphs(_scatter(n), [ShapeDtype((*batch_of(x, at), n), x.dtype)], [x, at])[0]


class Gather(TotalHost):
    """The entries at given indices, linear in the entries."""

    def push(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        if (d := tangents[0]) is None:
            return u, [None]
        return UOp.maketuple(*results(u), gather(d, u.src[2])), [1]

    def pull(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        """Scatter to the same indices."""
        x, at = u.src[1:]
        return [None if (ct := cotangents[0]) is None else summed_to(scatter(ct, at, sizes(x)[-1]), x), None]


class Scatter(TotalHost):
    """The entries, added at given indices, linear in the entries."""

    def push(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        if (d := tangents[0]) is None:
            return u, [None]
        return UOp.maketuple(*results(u), scatter(d, u.src[2], sizes(results(u)[0])[-1])), [1]

    def pull(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        """Gather from the same indices."""
        x, at = u.src[1:]
        return [None if (ct := cotangents[0]) is None else summed_to(gather(ct, at), x), None]


@functools.cache
def _gather() -> Gather:
    return Gather("gather", numpy_gather, by_c=along("gather"))


@functools.lru_cache(maxsize=256)
def _scatter(n: int) -> Scatter:
    return Scatter("scatter", functools.partial(numpy_scatter, n=n), by_c=host_kernels.segments("sum"))


# ---- NumPy implementations ----


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
