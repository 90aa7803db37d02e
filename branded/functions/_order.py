"""The ranks of entries along the last axis.

A rank is the number of smaller entries.  Counting them takes two kernels with n² comparisons.  tinygrad's sort takes
one kernel for each step of a bitonic network, and n² more comparisons to compute the indices.
"""

from __future__ import annotations

from tinygrad import Tensor, dtypes

from branded.functions import _host
from branded.graph.uops import widen, with_strong_dtype

_SIGNED = {4: dtypes.int32, 8: dtypes.int64}


def keys(x: Tensor) -> Tensor:
    """Map `x` to ints in the same order; NaN comes last, and -0.0 equals 0.0."""
    if x.dtype == dtypes.bool:
        return x.cast(dtypes.int32)
    if not dtypes.is_float(x.dtype):
        return x
    x = widen(with_strong_dtype(x.detach()))
    x = x.isnan().where(float("nan"), x.eq(0).where(0.0, x))  # one bit pattern for all NaNs, and one for both zeros
    bits = x.bitcast(_SIGNED[x.dtype.itemsize])
    most: int = bits.dtype.max
    return (bits < 0).where(bits ^ most, bits)


def ranks(x: Tensor, descending: bool = False) -> Tensor:
    """Return the position of each entry in the sorted order, `[..., n]`; the sort is stable."""
    k = keys(x).contiguous()
    entry, other = k.unsqueeze(-1), k.unsqueeze(-2)
    index = Tensor.arange(x.shape[-1], dtype=dtypes.int32)
    before = (other > entry if descending else other < entry) | (
        other.eq(entry) & (index.unsqueeze(0) < index.unsqueeze(1))
    )
    return before.sum(-1, dtype=dtypes.int32).contiguous()


def standing(x: Tensor, places: Tensor, descending: bool = False) -> Tensor:
    """Return the indices of the entries with the ranks `places: [m]` or `[..., m]`; 0 for a rank out of range.

    On the CPU, entries are sorted only as far as needed.
    """
    if _host.can_stand(x, places):
        return _host.standing(x.detach(), places, descending)
    indices = Tensor.arange(x.shape[-1], dtype=dtypes.int32).expand(x.shape)
    return at_rank(indices, ranks(x, descending), places)


def at_rank(x: Tensor, rank: Tensor, places: Tensor) -> Tensor:
    """Return the entries of `x` whose rank is in `places: [m]` or `[..., m]`; 0 for a rank that no entry has."""
    hit = rank.unsqueeze(-2).eq(places.unsqueeze(-1))
    if x.dtype == dtypes.bool:
        return (hit & x.unsqueeze(-2)).any(-1)
    return hit.where(x.unsqueeze(-2), 0).sum(-1, dtype=x.dtype)
