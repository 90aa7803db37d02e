"""`cummax` and `cummin` on the CPU: one call for the values and one for the indices, with one step for each entry.

NaN is the largest value, and stays the maximum, as in NumPy. The derivative equals the derivative of
`jax.lax.cummax`: neighbors are compared, then the larger ones, and so on. In each comparison, equal entries share the
cotangent.
"""

from __future__ import annotations

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import UOp

from branded.backends.cpu.linalg.scans import along
from branded.callbacks.host import sizes
from branded.callbacks.infallible import DifferentiableHost, InfallibleHost
from branded.graph.uops import tensor
from branded.tinygrad_compat.lazy_numpy import np


def cummax(x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Return the cumulative maxima along an axis, and the index at which each first occurs."""
    last = x.transpose(axis, -1).uop
    values, indices = _MAXIMA.apply(sizes(last), x.dtype, last), _PLACES.apply(sizes(last), dtypes.int32, last)
    return tensor(values).transpose(axis, -1), tensor(indices).transpose(axis, -1)


class RunningMaxima(DifferentiableHost):
    """The cumulative maxima along the last axis."""

    def tangent(self, u: UOp, d: UOp) -> UOp:
        return _TANGENTS.apply(sizes(u.src[1]), d.dtype, u.src[1], d)

    def cotangent(self, u: UOp, ct: UOp) -> UOp:
        return _COTANGENTS.apply(sizes(u.src[1]), ct.dtype, u.src[1], ct)


class Shares(DifferentiableHost):
    """The tangents of cumulative maxima, or the transpose: linear in the second argument."""

    active = 1
    transpose: Shares

    def cotangent(self, u: UOp, ct: UOp) -> UOp:
        return self.transpose.apply(sizes(ct), ct.dtype, u.src[1], ct)


def maxima(x: np.ndarray) -> np.ndarray:
    """Compute the maxima in NumPy, for all examples."""
    out: np.ndarray = np.maximum.accumulate(x, axis=-1)
    return out


def places(x: np.ndarray) -> np.ndarray:
    """Compute the indices in NumPy, for all examples."""
    y = maxima(x)
    is_new = (y[..., 1:] != y[..., :-1]) & ~((y[..., 1:] != y[..., 1:]) & (y[..., :-1] != y[..., :-1]))
    positions = np.zeros(x.shape, np.int32)
    positions[..., 1:] = np.where(is_new, np.arange(1, x.shape[-1], dtype=np.int32), 0)
    out: np.ndarray = np.maximum.accumulate(positions, axis=-1)
    return out


def _larger(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the maximum of two arrays, and the weight of each in its derivative."""
    z = np.maximum(x, y)
    first, second = x == z, y == z
    return z, first / (1.0 + second), second / (1.0 + first)


def tangents(x: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return the tangents of the maxima, given the tangents of the entries."""
    return _tangents(x, d)[1].astype(d.dtype)


def _tangents(x: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the maxima and their tangents."""
    if (n := x.shape[-1]) < 2:
        return x, d
    m = n // 2 * 2
    z, a, b = _larger(x[..., :m:2], x[..., 1:m:2])
    y = np.empty(x.shape, x.dtype)
    dy = np.empty(np.broadcast_shapes(x.shape, d.shape), np.float64)
    y[..., 1::2], dy[..., 1::2] = _tangents(z, a * d[..., :m:2] + b * d[..., 1:m:2])
    y[..., :1], dy[..., :1] = x[..., :1], d[..., :1]
    y[..., 2::2], a, b = _larger(y[..., 1 : n - 1 : 2], x[..., 2::2])
    dy[..., 2::2] = a * dy[..., 1 : n - 1 : 2] + b * d[..., 2::2]
    return y, dy


def cotangents(x: np.ndarray, ct: np.ndarray) -> np.ndarray:
    """Return the cotangents of the entries, given the cotangents of the maxima: the transpose of `tangents`."""
    return _cotangents(x, maxima(x), ct).astype(ct.dtype)


def _cotangents(x: np.ndarray, y: np.ndarray, ct: np.ndarray) -> np.ndarray:
    """Return the cotangents of the entries `x`, whose maxima are `y`."""
    if (n := x.shape[-1]) < 2:
        return ct
    m = n // 2 * 2
    out = np.empty(np.broadcast_shapes(x.shape, ct.shape), np.float64)
    out[..., :1] = ct[..., :1]
    _, a, b = _larger(y[..., 1 : n - 1 : 2], x[..., 2::2])
    out[..., 2::2] = b * ct[..., 2::2]
    later = ct[..., 1::2].astype(np.float64)
    later = np.broadcast_to(later, (*out.shape[:-1], n // 2)).copy()
    later[..., : (n - 1) // 2] += a * ct[..., 2::2]
    z, a, b = _larger(x[..., :m:2], x[..., 1:m:2])
    below = _cotangents(z, y[..., 1::2], later)
    out[..., :m:2] += a * below
    out[..., 1:m:2] = b * below
    return out


_MAXIMA = RunningMaxima("cummax", maxima, by_c=along("cummax"))
_PLACES = InfallibleHost("cumargmax", places, by_c=along("cumargmax"))
# the space is for float64 at each level of the recursion
_TANGENTS, _COTANGENTS = (Shares(f"{f.__name__} of cummax", f, space=6.0) for f in (tangents, cotangents))
_TANGENTS.transpose, _COTANGENTS.transpose = _COTANGENTS, _TANGENTS
