"""Compute a function of several slices of a value once, for the whole value.

A model reads its parameters one by one: `angles[0].sin()`, `angles[1].sin()`, and so on.  tinygrad writes the function
into each kernel that uses one of these numbers, which then computes it for each element.  The C function of a sine is
longer than most kernels, and takes longer to compile.  But a function of a slice is a slice of the function:

    sin(x[i] / 2)  =  sin(x / 2)[i]

Here the right side, for a small value `x` in memory, goes to memory if several kernels read its slices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.backends.cpu.renderer.bufferize_policy import FEW
from branded.tinygrad_compat.private_api import all_int

FUNCTIONS = {Ops.SIN, Ops.EXP2, Ops.LOG2}
"""The operations with long code."""
_MOVES = {Ops.RESHAPE, Ops.PERMUTE, Ops.SHRINK, Ops.EXPAND, Ops.FLIP}
"""The operations that choose and order elements, which commute with elementwise operations."""


def whole_functions(order: Sequence[UOp], readers: Mapping[UOp, Set[UOp]], kernels: int) -> dict[UOp, UOp]:
    """Return functions of slices, each with the slice of the function of the whole value that replaces it.

    At least `kernels` kernels read the slices of each whole value, and they are at least half of it.

    Args:
        order: The graph in topological order.
        readers: The kernels that read each value.
        kernels: The minimum number of kernels.
    """
    wholes = _find_wholes(order)
    members: dict[UOp, list[UOp]] = {}
    for u in order:
        if u.op in FUNCTIONS and (whole := wholes.get(u)) is not None:
            members.setdefault(whole, []).append(u)
    found = dict[UOp, UOp]()
    for whole, slices in members.items():
        if len(slices) == 1:
            continue  # `materialize_shared` decides
        used = sum(int(u.max_numel()) for u in slices)
        if 2 * used >= whole.max_numel() and len(set[UOp]().union(*(readers[u] for u in slices))) >= kernels:
            memory = whole.contiguous()
            found.update((u, _slice_of(memory, u, wholes)) for u in slices)
    return found


def _find_wholes(order: Sequence[UOp]) -> dict[UOp, UOp]:
    """Return, for each elementwise function of one slice of a small value in memory, the function of the whole value.

    The value itself and its slices are functions too.
    """
    wholes, numbers = dict[UOp, UOp](), set[UOp]()
    for u in order:
        if u.op in (Ops.BUFFER, Ops.PARAM):
            if isinstance(u.device, str) and all_int(u.shape) and 0 < u.max_numel() < FEW:
                wholes[u] = u
        elif u.op in _MOVES:
            if u.src[0] in wholes and all_int(u.shape):
                wholes[u] = wholes[u.src[0]]
        elif u.op is Ops.CONST and u.shape == ():
            numbers.add(u)
        elif u.op in GroupOp.ALU or u.op is Ops.CAST:
            rest = [s for s in u.src if s not in numbers]
            if not rest:
                numbers.add(u)
            elif len(rest) == 1 and rest[0] in wholes:
                wholes[u] = u.replace(src=tuple(wholes.get(s, s) for s in u.src))
    return wholes


def _slice_of(memory: UOp, u: UOp, wholes: Mapping[UOp, UOp]) -> UOp:
    """Return the part of a function in memory that `u` computes."""
    moves = []
    while u.op not in (Ops.BUFFER, Ops.PARAM):
        if u.op in _MOVES:
            moves.append(u)
        u = next(s for s in u.src if s in wholes)
    for move in reversed(moves):
        memory = move.replace(src=(memory, *move.src[1:]))
    return memory
