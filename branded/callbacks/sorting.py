"""`sort`, `topk` and `argsort` on the CPU: one call of C, or NumPy, instead of tinygrad's network of 40 kernels.

Values and indices equal the network's: equal entries keep their order, also in descending order. NaN is the largest
value, as in NumPy. As in JAX, each value has the derivative of the entry at its index: tangents are read at the
indices, cotangents are added there. Values and indices are separate calls, so an unused result is not computed; a
program that uses both has one call. For `topk`, the call itself returns only the first entries, so no kernel slices
its result.
"""

from __future__ import annotations

import functools

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import UOp

from branded.backends.cpu.linalg import sorting as in_c
from branded.callbacks.host import sizes
from branded.callbacks.infallible import DifferentiableHost, InfallibleHost, batch_of
from branded.graph.uops import tensor
from branded.tinygrad_compat.lazy_numpy import np


def sort(x: Tensor, dim: int, descending: bool, first: int | None = None) -> tuple[Tensor, Tensor]:
    """Return the sorted values along an axis and their indices: all, or the first `first`."""
    last = x.transpose(dim, -1)
    *batch, n = (int(n) for n in last.shape)
    k = n if first is None else first
    by = _sorter(descending, k, n)
    new = by.apply((*batch, k), x.dtype, last.uop)
    return tensor(new).transpose(dim, -1), tensor(by.places(last.uop)).transpose(dim, -1).cast(dtypes.default_int)


class Sorted(DifferentiableHost):
    """The first of the sorted values along the last axis."""

    def __init__(self, descending: bool, first: int, among: int) -> None:
        work = functools.partial(values, descending=descending, first=first)
        super().__init__("sort", work, by_c=in_c.sort(descending, True, False), space=among / first)
        keys = functools.partial(order, descending=descending, first=first)
        # 64-bit keys or indices, twice, in addition to their inputs
        by_c = in_c.sort(descending, False, True)
        self.where = InfallibleHost("argsort", keys, by_c=by_c, space=4.0 * among / first)
        both = functools.partial(values_and_order, descending=descending, first=first)
        joint = InfallibleHost("sort", both, by_c=in_c.sort(descending, True, True), space=4.0 * among / first)
        self.part, self.where.part = (joint, 0), (joint, 1)
        self.first = first

    def places(self, x: UOp) -> UOp:
        """Return the indices of the sorted values."""
        return self.where.apply((*sizes(x)[:-1], self.first), dtypes.int32, x)

    def tangent(self, u: UOp, d: UOp) -> UOp:
        return gather(d, self.places(u.src[1]))

    def cotangent(self, u: UOp, ct: UOp) -> UOp:
        n, places = sizes(u.src[1])[-1], tensor(self.places(u.src[1]))
        is_here = places.unsqueeze(-1).eq(Tensor.arange(n, dtype=dtypes.int32))
        return is_here.where(tensor(ct).unsqueeze(-1), 0).sum(-2, dtype=ct.dtype).uop


def gather(x: UOp, places: UOp) -> UOp:
    """Return the entries of `x`, `[..., n]`, at `places`, `i32[..., k]`; other axes of size 1 are broadcast."""
    batch = batch_of(x, places)
    entries, indices = (tensor(u).expand(*batch, sizes(u)[-1]) for u in (x, places))
    return entries.gather(-1, indices).uop


_sorter = functools.lru_cache(maxsize=256)(Sorted)
"""Shared instances, so that the same sort of the same values is one call."""


def values(x: np.ndarray, descending: bool, first: int | None = None) -> np.ndarray:
    """Return the first sorted values; NaN is the largest."""
    out: np.ndarray = np.sort(x, axis=-1)
    return (out[..., ::-1] if descending else out)[..., :first]


def order(x: np.ndarray, descending: bool, first: int | None = None) -> np.ndarray:
    """Return the indices of the first sorted values; equal entries keep their order."""
    places = np.argsort(x[..., ::-1] if descending else x, axis=-1, kind="stable").astype(np.int32)
    return (x.shape[-1] - 1 - places[..., ::-1] if descending else places)[..., :first]


def values_and_order(x: np.ndarray, descending: bool, first: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the first sorted values and their indices."""
    places = order(x, descending, first)
    return np.take_along_axis(x, places, -1), places
