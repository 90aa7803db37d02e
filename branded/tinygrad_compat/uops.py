"""Functions on tinygrad's graphs that the fixes share with the rest of the package."""

from __future__ import annotations

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.tinygrad_compat import private_api

KNOWN = "_branded_known"
"""The attribute of a UOp under which `compile.output_pool` caches its `Known`, a value in memory."""


def base_of(u: UOp) -> UOp:
    """Return the value below reshapes."""
    while u.op is Ops.RESHAPE:
        u = u.src[0]
    return u


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """Return the permutation that undoes this one."""
    return tuple(order.index(i) for i in range(len(order)))


def living_tensors() -> list[Tensor]:
    """Return all tensors that a program still holds, in the order of their creation."""
    return [t for ref in list(private_api.tensor.all_tensors) if (t := ref()) is not None]


_ROUNDED = {Ops.ADD, Ops.MUL, Ops.RECIPROCAL, Ops.SIN, Ops.EXP2, Ops.LOG2, Ops.SQRT, Ops.POW}


def is_inexact(x: UOp) -> bool:
    """Return whether several rounded operations compute `x`, so that kernels may fuse and round them differently.

    The result of a call counts as inexact: tinygrad may inline its body.
    """
    inside = x.toposort(lambda u: u.op in GroupOp.Elementwise or u.op in GroupOp.Movement or u.op is Ops.GETTUPLE)
    if any(u.op is Ops.GETTUPLE for u in inside):
        return True
    return sum(u.op in _ROUNDED and dtypes.is_float(u.dtype) for u in inside) > 1
