"""What several kernels would work out again is worked out once, by a kernel of its own.

tinygrad makes one kernel of all that a sum or a result is worked out from, up to what is in memory, and each of them
has the whole of it: numbers that are drawn, some hundred operations, stand in every kernel of a gradient that reads
them, and each such kernel takes its time to be made and to be compiled.  A value of few numbers and many operations
that goes into several kernels goes to memory.  `kept` says which of the values that tinygrad puts there stay.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinygrad import dtypes
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.backends.cpu.renderer.bufferize_policy import FEW
from branded.backends.cpu.renderer.loops import room

KERNELS, MANY = 3, 40
"""A value that goes into so many kernels, and takes so many operations, is worked out once."""
_DRAW = 100
"""So many operations is a draw of bits."""
_ENDS = {Ops.REDUCE, Ops.BUFFER, Ops.PARAM, Ops.AFTER, Ops.CONTIGUOUS, Ops.COPY, Ops.CALL, Ops.CUSTOM_FUNCTION}
"""Where another kernel begins, or none is."""


def once(values: Sequence[UOp]) -> list[UOp]:
    """The values, of which parts are worked out on their own."""
    values = list(values)
    if not room.value or not all(str(u.device).startswith("CPU") for u in values):
        return values
    order = list(UOp.sink(*values).toposort(enter_calls=False))[:-1]
    if not (found := _found(values, order)):
        return values
    new = dict[UOp, UOp]()
    for u in order:
        src = tuple(new.get(s, s) for s in u.src)
        v = u if src == u.src else u.replace(src=src)
        if u in found:
            v = v.contiguous()
        if v is not u:
            new[u] = v
    return [new.get(u, u) for u in values]


def _found(values: Sequence[UOp], order: Sequence[UOp]) -> set[UOp]:
    into: dict[UOp, set[UOp]] = {u: set() for u in order}
    """The kernels that a value goes into, if they are few: each by what it ends with."""
    for u in values:
        into[u].add(u)
    found = set[UOp]()
    for u in reversed(order):
        kernels = into[u]
        if u.op in _ENDS:
            kernels = {u}
        elif len(kernels) >= KERNELS and _is_small(u) and _is_long(u):
            found.add(u)
            kernels = {u}
        for s in u.src:
            if len(there := into.get(s, kernels)) < KERNELS:  # the body of a function is not among them
                there |= kernels
    return found


def _is_small(u: UOp) -> bool:
    if u.op not in GroupOp.ALU or u.dtype in dtypes.weaks or not isinstance(u.device, str):
        return False
    return all(isinstance(n, int) for n in u.shape) and 1 <= u.max_numel() < FEW


def _is_long(u: UOp) -> bool:
    left, seen, operations = [u], {u}, 0
    while left and operations < MANY:
        x = left.pop()
        operations += _DRAW if x.op is Ops.THREEFRY else int(x.op in GroupOp.ALU)
        for s in x.src:
            if s.op not in _ENDS and s not in seen:
                seen.add(s)
                left.append(s)
    return operations >= MANY
