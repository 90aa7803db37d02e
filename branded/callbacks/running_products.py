"""`cumprod` on the CPU: one call of C. Its derivatives are linear recurrences, each one more call of C.

The products `y[i] = x[i] y[i - 1]` have the tangents `dy[i] = x[i] dy[i - 1] + y[i - 1] dx[i]`. This takes one
step for each entry, without a division, so zeros need no special case. The derivatives of a recurrence are recurrences
again. In reverse mode they run from the last entry to the first.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded.backends.cpu.linalg.scans import along
from branded.callbacks.host import sizes
from branded.callbacks.infallible import DifferentiableHost, InfallibleHost, batch_of, summed_to
from branded.graph.primitive import results
from branded.graph.uops import tensor
from branded.tinygrad_compat.lazy_numpy import np


def cumprod(x: Tensor, axis: int) -> Tensor:
    """Return the cumulative products along an axis."""
    last = x.transpose(axis, -1).uop
    return tensor(_PRODUCTS.apply(sizes(last), last.dtype, last)).transpose(axis, -1)


def recurrence(a: UOp, b: UOp) -> UOp:
    """Return `y` along the last axis with `y[i] = a[i] y[i - 1] + b[i]`, and `y[0] = b[0]`."""
    return _RECURRENCE.apply((*batch_of(a, b), sizes(b)[-1]), b.dtype, a, b)


def _backward(a: UOp, g: UOp) -> UOp:
    """Apply the transpose of a recurrence in `b`: `y[i] = a[i + 1] y[i + 1] + g[i]`."""
    return _flip(recurrence(_shift(_flip(a), 0), _flip(g)))


def _flip(x: UOp) -> UOp:
    return tensor(x).flip(-1).uop


def _shift(x: UOp, first: float) -> UOp:
    """Shift each entry by one position, after a new first entry."""
    t = tensor(x)
    return t[..., :-1].pad((*(None,) * (t.ndim - 1), (1, 0)), value=first).uop


class RunningProducts(DifferentiableHost):
    """The cumulative products along the last axis."""

    def tangent(self, u: UOp, d: UOp) -> UOp:
        """Apply the product rule to each factor."""
        return recurrence(u.src[1], _shift(results(u)[0], 1) * d)

    def cotangent(self, u: UOp, ct: UOp) -> UOp:
        return _backward(u.src[1], ct) * _shift(results(u)[0], 1)


class Recurrence(InfallibleHost):
    """The linear recurrence `recurrence` of `a` and `b`."""

    def jvp(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        """Return `dy[i] = a[i] dy[i - 1] + (da[i] y[i - 1] + db[i])`."""
        (y,), a, (da, db) = results(u), u.src[1], tangents
        if da is None and db is None:
            return u, [None]
        moved = None if da is None else da * _shift(y, 0)
        change = db if moved is None else moved if db is None else moved + db
        assert change is not None
        return UOp.maketuple(y, recurrence(a, change)), [1]

    def vjp(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        if (ct := cotangents[0]) is None:
            return [None, None]
        (y,), (a, b) = results(u), u.src[1:]
        back = _backward(a, ct)
        return [summed_to(back * _shift(y, 0), a), summed_to(back, b)]


def numpy_cumprod(x: np.ndarray) -> np.ndarray:
    """Compute the products in NumPy, for all examples."""
    out: np.ndarray = np.cumprod(x, axis=-1, dtype=x.dtype)
    return out


def numpy_recurrence(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Compute the recurrence in NumPy, for all examples."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape), b.dtype)
    out[..., 0] = b[..., 0]
    for i in range(1, b.shape[-1]):
        out[..., i] = a[..., i] * out[..., i - 1] + b[..., i]
    return out


_PRODUCTS = RunningProducts("cumprod", numpy_cumprod, by_c=along("cumprod"))
_RECURRENCE = Recurrence("recurrence", numpy_recurrence, by_c=along("recurrence"))
