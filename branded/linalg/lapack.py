"""Matrix operations by numpy's LAPACK: functions of arrays whose leading axes are a batch.

If LAPACK fails for a matrix, only the results of that matrix are NaN.  numpy has no function for triangular systems:
they are solved by BLAS, or, for many small ones, by numpy row by row.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from tinygrad import Tensor

from branded.backends.cpu.gemm import blas
from branded.backends.cpu.linalg import lapack as drivers
from branded.callbacks.host import ShapeDtype, call_host
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.private_api import broadcast_shape

Arrays = Sequence["np.ndarray"]
Work = Callable[..., Any]


def results(name: str, f: Work, xs: Sequence[Tensor], *shapes: tuple[int, ...], option: int = 0) -> list[Tensor]:
    """Call a function of arrays; its results have these shapes after the batch, and the dtype of the operands.

    A C driver of this name is used instead, if there is one, with this option.
    """
    batch = broadcast_shape(*(x.shape[:-2] for x in xs))
    types = [ShapeDtype((*batch, *shape), xs[0].dtype) for shape in shapes]
    return call_host(f"linalg.{name}", f, types, xs, vmap_method="expand_dims", in_c=drivers.in_c(name, option))


def _each(f: Work, xs: Arrays) -> list[np.ndarray]:
    """Apply `f` to the stack of all matrices; if that fails, to each matrix separately."""
    with _limit_threads(xs):
        try:
            return _as_list(f(*xs))
        except np.linalg.LinAlgError:
            batch = np.broadcast_shapes(*(x.shape[:-2] for x in xs))
            full = [np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in xs]
            like = _as_list(f(*(np.broadcast_to(np.eye(*x.shape[-2:], dtype=x.dtype), x.shape[-2:]) for x in xs)))
            out = [np.full((*batch, *y.shape), math.nan, y.dtype) for y in like]
            for index in np.ndindex(*batch):
                try:
                    ys = _as_list(f(*(x[index] for x in full)))
                except np.linalg.LinAlgError:
                    continue
                for whole, y in zip(out, ys, strict=True):
                    whole[index] = y
            return out


def _as_list(y: Any) -> list[np.ndarray]:
    return list(y) if isinstance(y, tuple) else [y]


def _routine(name: str, routine: str = "", **options: Any) -> Work:
    """Return numpy's `routine`, by default the one of this name, with these options, for a batch of matrices."""

    def work(*xs: np.ndarray) -> list[np.ndarray]:
        return _each(functools.partial(getattr(np.linalg, routine or name), **options), xs)

    work.__name__ = name
    return work


solve, inv, eigh, eigvalsh = map(_routine, ("solve", "inv", "eigh", "eigvalsh"))
svdvals = _routine("svdvals", "svd", compute_uv=False)


@functools.cache
def svd(full: bool) -> Work:
    """Return the routine with this option, the same object on every call."""
    return _routine("svd", full_matrices=full)


@functools.cache
def qr(full: bool) -> Work:
    return _routine("qr", mode="complete" if full else "reduced")


def cholesky(a: np.ndarray) -> list[np.ndarray]:
    (low,) = _each(np.linalg.cholesky, [a])
    if np.isnan(low[..., -1, -1]).any():
        low = np.tril(low)
    return [low]


def det(a: np.ndarray) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        return [np.asarray(y, a.dtype) for y in _each(np.linalg.det, [a])]


def slogdet(a: np.ndarray) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        sign, log = _each(np.linalg.slogdet, [a])
        return [np.asarray(y, a.dtype) for y in (np.where(np.isnan(log), math.nan, sign), log)]


def cofactors(a: np.ndarray) -> list[np.ndarray]:
    """Compute det(a) a⁻ᵀ; for a singular matrix, from the products of all other singular values."""
    size = det(a)[0][..., None, None]
    none = size == 0
    eye = np.eye(a.shape[-1], dtype=a.dtype)
    out = inv(np.where(none, eye, a))[0].swapaxes(-1, -2) * size
    if none.any():
        singular = none[..., 0, 0]
        u, s, vt = _each(np.linalg.svd, [a[singular]])
        others = np.where(eye == 1, 1, s[..., None, :]).prod(-1)
        out[singular] = (u * others[..., None, :]) @ vt * np.sign(np.linalg.det(u) * np.linalg.det(vt))[..., None, None]
    return [np.asarray(out, a.dtype)]


@functools.cache
def solve_triangular(lower: bool, unit: bool) -> Work:
    def solve_triangular(a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        x = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])), order="C")
        trsm = _trsm(a.dtype.char)
        with np.errstate(all="ignore"):
            if trsm is None or (math.prod(batch) > _MANY and a.shape[-1] <= _SMALL):
                _substitute(np.broadcast_to(a, (*batch, *a.shape[-2:])), x, lower, unit)
            else:
                with _limit_threads([x]):
                    _by_blas(trsm, np.ascontiguousarray(a), x, lower, unit)
        return [x]

    return solve_triangular


_MANY, _SMALL = 32, 32
"""More than `_MANY` matrices of up to `_SMALL` rows are solved together, row by row; such small ones use no threads."""
_ROWS, _LEFT, _PLAIN = 101, 141, 111
"""The CBLAS constants for row-major storage, a matrix on the left, and no transposition."""


def _substitute(a: np.ndarray, x: np.ndarray, lower: bool, unit: bool) -> None:
    n = a.shape[-1]
    for i in range(n) if lower else reversed(range(n)):
        done = slice(0, i) if lower else slice(i + 1, n)
        if i not in (0 if lower else n - 1,):
            x[..., i, :] -= (a[..., i, None, done] @ x[..., done, :])[..., 0, :]
        if not unit:
            x[..., i, :] /= a[..., i, i, None]


def _by_blas(trsm: Any, a: np.ndarray, x: np.ndarray, lower: bool, unit: bool) -> None:
    n, k = x.shape[-2:]
    size, batch = a.itemsize * n * n, x.shape[:-2]
    # the byte offset of the matrix for each step of the batch: 0 for a shared matrix
    moves = np.zeros((1,) * len(batch), dtype=np.int64)
    step = size
    for i, m in reversed(list(enumerate(a.shape[:-2]))):
        axis = i + len(batch) - (a.ndim - 2)
        if m > 1:
            shape = [1] * len(batch)
            shape[axis] = m
            moves = moves + (np.arange(m) * step).reshape(shape)
        step *= m
    start, to = a.ctypes.data, x.ctypes.data
    half, ones = 122 if lower else 121, 132 if unit else 131
    one = 1.0
    for move in np.broadcast_to(moves, batch).ravel().tolist():
        trsm(_ROWS, _LEFT, half, _PLAIN, ones, n, k, one, start + move, n, to, k)
        to += x.itemsize * n * k


@functools.cache
def _trsm(char: str) -> Any:
    """Return the BLAS function for triangular systems of dtype `f` or `d`; None if it is missing."""
    trsm = getattr(blas.library(), f"scipy_cblas_{'s' if char == 'f' else 'd'}trsm64_", None)
    if trsm is None:
        return None
    real = ctypes.c_float if char == "f" else ctypes.c_double
    size, place = ctypes.c_longlong, ctypes.c_void_p
    trsm.argtypes = [*[ctypes.c_int] * 5, size, size, real, place, size, place, size]
    trsm.restype = None
    return trsm


_WORTH = 1 << 26
"""The least number of multiplications for which the threads of OpenBLAS are faster than one thread."""


def _limit_threads(xs: Arrays) -> AbstractContextManager[None]:
    n = max(max(x.shape[-2:]) for x in xs)
    return _one_thread() if n > _SMALL and n**3 < _WORTH else nullcontext()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Make OpenBLAS work in this thread only."""
    choose = _threads()
    if choose is None:
        yield
        return
    before = choose(1)
    try:
        yield
    finally:
        choose(before)


@functools.cache
def _threads() -> Any:
    set_threads = getattr(blas.library(), "openblas_set_num_threads_local", None)
    if set_threads is not None:
        set_threads.argtypes, set_threads.restype = [ctypes.c_int], ctypes.c_int
    return set_threads
