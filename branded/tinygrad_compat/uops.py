"""Functions of tinygrad's graphs that the fixes share with the rest of the package."""

from __future__ import annotations

from tinygrad import Tensor
from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat import private_api


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
