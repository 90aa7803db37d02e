"""The order of entries along the last axis: how many come before each.

Counting takes two kernels for n² comparisons, where tinygrad's sort takes one for each step of a bitonic network, and
as many comparisons again for the indices.
"""

from __future__ import annotations

from tinygrad import Tensor, dtypes

from branded.functions import _host

_SIGNED = {4: dtypes.int32, 8: dtypes.int64}


def keys(x: Tensor) -> Tensor:
    """Ints in the order of `x`: of floats NaN comes last, and the two zeros are one."""
    if x.dtype == dtypes.bool:
        return x.cast(dtypes.int32)
    if not dtypes.is_float(x.dtype):
        return x
    x = x.detach() if x.dtype.itemsize >= 4 else x.detach().cast(dtypes.float32)
    x = x.isnan().where(float("nan"), x.eq(0).where(0.0, x))  # one NaN of many, and one zero of two
    bits = x.bitcast(_SIGNED[x.dtype.itemsize])
    most: int = bits.dtype.max
    return (bits < 0).where(bits ^ most, bits)


def ranks(x: Tensor, descending: bool = False) -> Tensor:
    """The place of each entry where they are sorted, `[..., n]`; equal ones keep their order."""
    k = keys(x).contiguous()
    own, other = k.unsqueeze(-1), k.unsqueeze(-2)
    at = Tensor.arange(x.shape[-1], dtype=dtypes.int32)
    before = (other > own if descending else other < own) | (other.eq(own) & (at.unsqueeze(0) < at.unsqueeze(1)))
    return before.sum(-1, dtype=dtypes.int32).contiguous()


def standing(x: Tensor, places: Tensor, descending: bool = False) -> Tensor:
    """Which entries of the last axis have the given places in their order, `[m]` or `[..., m]`; 0 where none has.

    What is on the CPU is sorted, as far as need be.
    """
    if _host.can_stand(x, places):
        return _host.standing(x.detach(), places, descending)
    at = Tensor.arange(x.shape[-1], dtype=dtypes.int32).expand(x.shape)
    return at_rank(at, ranks(x, descending), places)


def at_rank(x: Tensor, rank: Tensor, places: Tensor) -> Tensor:
    """The entries of `x` of the given places, `[m]` or `[..., m]`: 0 where there is none."""
    hit = rank.unsqueeze(-2).eq(places.unsqueeze(-1))
    if x.dtype == dtypes.bool:
        return (hit & x.unsqueeze(-2)).any(-1)
    return hit.where(x.unsqueeze(-2), 0).sum(-1, dtype=x.dtype)
