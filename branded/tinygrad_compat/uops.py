"""Functions on tinygrad's graphs that the fixes share with the rest of the package."""

from __future__ import annotations

import weakref
from collections.abc import Mapping

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.tinygrad_compat import private_api

KNOWN = "_branded_known"
"""The attribute of a UOp under which `compile.output_pool` caches its `Known`, a value in memory."""


def tensor(u: UOp) -> Tensor:
    """Return `Tensor(u)` without looking up the device of `u`, which would walk the whole graph."""
    t = Tensor.__new__(Tensor)
    t.uop, t.grad, t.is_param = u, None, True
    private_api.tensor.all_tensors[weakref.ref(t)] = None
    return t


def base_of(u: UOp) -> UOp:
    """Return the value below reshapes."""
    while u.op is Ops.RESHAPE:
        u = u.src[0]
    return u


def is_realized(u: UOp) -> bool:
    """Return whether a value is a buffer that has memory."""
    if (known := u.__dict__.get(KNOWN)) is not None and known.is_there:
        return True
    return u.op is Ops.BUFFER and bool(u.is_realized)


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """Return the permutation that undoes this one."""
    return tuple(order.index(i) for i in range(len(order)))


def living_tensors() -> list[Tensor]:
    """Return all tensors that a program still holds, in the order of their creation."""
    return [t for ref in list(private_api.tensor.all_tensors) if (t := ref()) is not None]


def tensors_containing(graphs: Mapping[UOp, object]) -> list[tuple[Tensor, UOp]]:
    """Return the living tensors whose graphs contain one of these graphs, each with its UOp."""
    contains: dict[UOp, bool] = {}

    def visit(u: UOp) -> bool:
        return u in graphs or any(contains.get(s, False) for s in u.src)

    pairs = [(t, t.uop) for t in living_tensors()]
    if not any(base_of(u).op is Ops.BUFFER for u in graphs):  # then the graph of a tensor in memory contains none
        pairs = [(t, u) for t, u in pairs if base_of(u).op is not Ops.BUFFER]
    return [(t, u) for t, u in pairs if u.topovisit(visit, contains)]


_ROUNDED = {Ops.ADD, Ops.MUL, Ops.RECIPROCAL, Ops.SIN, Ops.EXP2, Ops.LOG2, Ops.SQRT, Ops.POW}


def is_inexact(x: UOp) -> bool:
    """Return whether several rounded operations compute `x`, so that kernels may fuse and round them differently.

    The result of a call counts as inexact: tinygrad may inline its body.
    """
    inside = x.toposort(lambda u: u.op in GroupOp.Elementwise or u.op in GroupOp.Movement or u.op is Ops.GETTUPLE)
    if any(u.op is Ops.GETTUPLE for u in inside):
        return True
    return sum(u.op in _ROUNDED and dtypes.is_float(u.dtype) for u in inside) > 1
