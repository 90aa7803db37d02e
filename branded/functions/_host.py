"""Host callbacks for the CPU that are faster than tinygrad's kernels: binary search, selection by rank, FFT.

They call C, or numpy if there is no C compiler. On other devices and with `BRANDED_CPU=0`, the same functions use
operations of tinygrad, and the derivatives are the same.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence, Set

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import UOp

from branded.backends.cpu.linalg import fourier, host_kernels
from branded.callbacks.host import ShapeDtype, call_on_graphs, serves, sizes
from branded.callbacks.infallible import InfallibleHost, batch_of, summed_to
from branded.callbacks.sorting import order
from branded.graph.primitive import results
from branded.graph.uops import tensor
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.private_api import all_int


def search(sorted_keys: Tensor, wanted: Tensor, side: str) -> Tensor:
    """Count the `sorted_keys: [n]` that come before each of `wanted`."""
    return tensor(_searcher(side).apply(sizes(wanted.uop), dtypes.int32, sorted_keys.uop, wanted.uop))


def can_search(sorted_keys: Tensor, wanted: Tensor) -> bool:
    is_known = sorted_keys.dtype == wanted.dtype and sorted_keys.dtype in (dtypes.int32, dtypes.int64)
    return is_known and _serves(sorted_keys, wanted)


def _serves(*xs: Tensor) -> bool:
    return all(serves(x) and all_int(x.shape) and 0 not in x.shape for x in xs)


@functools.cache
def _searcher(side: str) -> InfallibleHost:
    work = functools.partial(search_in_numpy, side=side)
    return InfallibleHost("searchsorted", work, by_c=host_kernels.search(side))


def search_in_numpy(sorted_keys: np.ndarray, wanted: np.ndarray, side: str) -> np.ndarray:
    """Implement `search` in numpy, for all examples."""
    lead = sorted_keys.ndim - 1
    batch = np.broadcast_shapes(sorted_keys.shape[:-1], wanted.shape[:lead])
    sorted_keys = np.broadcast_to(sorted_keys, (*batch, sorted_keys.shape[-1]))
    wanted = np.broadcast_to(wanted, batch + wanted.shape[lead:])
    out = np.empty(wanted.shape, np.int32)
    for index in np.ndindex(*batch):
        out[index] = np.searchsorted(sorted_keys[index], wanted[index], side)  # type: ignore[call-overload]
    return out


def standing(x: Tensor, places: Tensor, descending: bool) -> Tensor:
    """Return the indices along the last axis of the entries with these ranks, `[m]` or `[..., m]`."""
    ranks = places.reshape((1,) * (x.ndim - places.ndim) + sizes(places.uop)).cast(dtypes.int32)
    shape = (*sizes(x.uop)[:-1], int(places.shape[-1]))
    return tensor(_picker(descending).apply(shape, dtypes.int32, x.uop, ranks.uop))


def can_stand(x: Tensor, places: Tensor) -> bool:
    return _serves(x) and 0 not in places.shape and x.dtype not in dtypes.weaks


@functools.cache
def _picker(descending: bool) -> InfallibleHost:
    work = functools.partial(standing_in_numpy, descending=descending)
    return InfallibleHost("places", work, by_c=host_kernels.standing(descending))


def standing_in_numpy(x: np.ndarray, places: np.ndarray, descending: bool) -> np.ndarray:
    """Implement `standing` in numpy, for all examples."""
    indices = order(x, descending)
    batch = np.broadcast_shapes(x.shape[:-1], places.shape[:-1])
    there = np.broadcast_to(indices, (*batch, indices.shape[-1]))
    in_range = (places >= 0) & (places < x.shape[-1])
    ranks = np.broadcast_to(np.where(in_range, places, 0), (*batch, places.shape[-1]))
    return np.where(in_range, np.take_along_axis(there, ranks, -1), 0).astype(np.int32)


class Fourier(InfallibleHost):
    """A Fourier transform along the last axis, without a factor: `fft`, `ifft` or `rfft` of n entries, `irfft` to n."""

    def __init__(self, kind: str, n: int) -> None:
        work = functools.partial(fourier_in_numpy, kind=kind, n=n)
        super().__init__(kind, work, by_c=fourier.transform(kind, n))
        self.kind, self.n = kind, n

    def transform(self, *parts: UOp) -> list[UOp]:
        size = self.n // 2 + 1 if self.kind == "rfft" else self.n
        result = ShapeDtype((*batch_of(*parts), size), parts[0].dtype)
        return call_on_graphs(self, [result] * (1 if self.kind == "irfft" else 2), parts)

    def jvp(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        """Transform the tangents: the operation is linear."""
        ys, dxs = results(u), [x.const_like(0) if d is None else d for x, d in zip(u.src[1:], tangents, strict=True)]
        return UOp.maketuple(*ys, *self.transform(*dxs)), [*range(len(ys), 2 * len(ys))]

    def vjp(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        """Apply the transpose: the transform with the opposite sign, and weight 2 for bins that `irfft` uses twice."""
        cts = [y.const_like(0) if ct is None else ct for y, ct in zip(results(u), cotangents, strict=True)]
        if self.kind == "rfft":
            cts = [(tensor(ct) / self._weights(ct)).uop for ct in cts]
        grads = _fourier(_OPPOSITE[self.kind], self.n).transform(*cts)
        if self.kind == "irfft":
            grads = [(tensor(g) * self._weights(g)).uop for g in grads]
        return [summed_to(g, x) for g, x in zip(grads, u.src[1:], strict=False)]

    def _weights(self, bins: UOp) -> Tensor:
        k = Tensor.arange(sizes(bins)[-1], dtype=dtypes.int32)
        return (k.eq(0) | (2 * k).eq(self.n)).where(1.0, 2.0).cast(bins.dtype)


_OPPOSITE = {"fft": "ifft", "ifft": "fft", "rfft": "irfft", "irfft": "rfft"}
FOURIER = 17
"""Shorter transforms remain matrix products in tinygrad, which are fused with other kernels."""


def can_transform(x: Tensor, n: int) -> bool:
    return _serves(x) and n >= FOURIER


def transform(kind: str, n: int, *parts: Tensor) -> list[Tensor]:
    """Return the real and the imaginary part of a transform, or the real result of `irfft`."""
    return [tensor(u) for u in _fourier(kind, n).transform(*(t.uop for t in parts))]


_fourier = functools.cache(Fourier)


def fourier_in_numpy(re: np.ndarray, im: np.ndarray | None = None, *, kind: str, n: int) -> list[np.ndarray]:
    """Implement `transform` in numpy, for all examples."""
    x = re if im is None else re + im * np.array(1j, np.complex64 if re.dtype == np.float32 else np.complex128)
    y = getattr(np.fft, kind)(x, n, norm="forward" if kind[0] == "i" else "backward")
    return [part.astype(re.dtype) for part in ([y] if kind == "irfft" else [y.real, y.imag])]
