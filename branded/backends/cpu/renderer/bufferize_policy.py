"""Decide which values are computed once and stored in memory, instead of being recomputed by each kernel.

tinygrad's scheduler stores a value that kernels read in different orders.  It inlines the value again if the value
depends on few buffers, whatever the recomputation costs: softmax computes each `exp` twice, for the sum and for the
quotient.  On the CPU, a value that contains `exp`, `log` or similar stays in memory if it fits into the cache, or if it
is not larger than its inputs.  An outer product that is only summed needs no memory, since its loops are those of the
sum.

tinygrad splits a sum of many terms per result into a sum of sums, which is kept in memory too.  A sum that selects
entries by an index has only one term that is not masked, and is not split: see `scatter`.

A value that reads many elements stays in memory too, on every device.  A kernel that reads such a value in two places
computes it twice, and a chain of such values takes twice the time for each step.  In tinygrad alone, 18 steps of a
stencil never finish.
A sum that reads no memory is stored as well.  tinygrad inlines the sum of each row of a mask into a kernel over all
elements, which then computes the sum once for each element.
"""

from __future__ import annotations

import math

from tinygrad import dtypes
from tinygrad.uop.ops import GroupOp, Ops, PatternMatcher, UOp

from branded.backends.cpu.renderer.loops import cpu_codegen
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.fixes.kernels.buffer_layouts import layout_of
from branded.tinygrad_compat.private_api import AddrSpace

DEAR = {Ops.EXP2, Ops.LOG2, Ops.SIN, Ops.POW, Ops.RECIPROCAL}
"""Operations slower than reading memory; `tanh`, `sigmoid`, `erf` and `gelu` contain an `exp` and a division."""
FEW, MANY = 1 << 12, 1 << 20
"""Below `FEW` elements recomputation beats another kernel; above `MANY`, beyond any cache, it beats storing `exp`."""
READS, OPERATIONS = 8, 512
"""The reads per element and the operations above which a value is not computed in several places."""
_MEMORY = {Ops.AFTER, Ops.STAGE, Ops.PARAM, Ops.BUFFER, Ops.MSTACK, Ops.MSELECT}


def is_kept(value: UOp, stage: UOp) -> bool:
    """Return whether to keep a value that the scheduler would recompute; `stage` describes its memory."""
    if not (stage.arg.addrspace == AddrSpace.GLOBAL and str(stage.arg.device).split(":")[0] == "CPU"):
        return False
    if not all(isinstance(n, int) for n in stage.shape) or (size := stage.numel()) < FEW:
        return False
    inside = value.toposort(gate=lambda u: u.op not in _MEMORY)
    if not (dear := [u.op for u in inside if u.op in DEAR]) or dear == [Ops.RECIPROCAL]:
        return False
    if size <= MANY or dear == [Ops.EXP2]:
        return bool(size <= MANY)
    sizes = dict[UOp, int]()
    for u in inside:
        for s in u.src:
            if s.op in _MEMORY:
                sizes[s] = max(sizes.get(s, 0), int(s.numel()) // (parts(u) if u.op is Ops.INDEX else 1))
    return bool(size <= sum(sizes.values()))


def parts(index: UOp) -> int:
    """Return the number of parts of a buffer read one at a time: a loop reads the part of one step."""
    within = UOp.sink(*index.src[1:]).toposort()
    variables = [v for v in within if v.op in (Ops.PARAM, Ops.BUFFER) and v.addrspace is AddrSpace.ALU]
    return math.prod(int(v.vmax - v.vmin) + 1 for v in variables)


def is_long(value: UOp) -> bool:
    """Return whether a chain of values like this one would double at each step, or sum again for each element."""
    inside = value.toposort(gate=lambda u: u.op not in _MEMORY)
    if len(inside) > OPERATIONS or sum(u.op is Ops.INDEX for u in inside) > READS:
        return True
    return any(u.op is Ops.REDUCE and math.prod(int(r.vmax) + 1 for r in u.src[1:]) > READS for u in inside)


def _inline_unless_kept(src: UOp, buf: UOp, idx: UOp) -> UOp | None:
    if cpu_codegen.value and (is_kept(src, buf) or is_long(src)):
        return None
    out: UOp | None = private_api.remove_bufferize(src, buf, idx)
    return out


def _split_unless_selecting(reduce: UOp, x: UOp) -> UOp | None:
    if cpu_codegen.value and str(x.device).split(":")[0] == "CPU":
        if selects(x):
            return None
        x = _farthest_first(reduce, x)
    out: UOp | None = private_api.split_reduceop(reduce, x)
    return out


def _farthest_first(reduce: UOp, x: UOp) -> UOp:
    """Return the operand of a reduction with its reduced axes in the order of the memory that it reads."""
    reduced, layout = list(range(reduce.arg[1])), layout_of(x)
    order = reduced if layout is None else sorted(reduced, key=lambda i: layout.strides[i], reverse=True)
    out: UOp = x if order == reduced else x.permute((*order, *range(len(order), len(x.shape))))
    return out


def selects(x: UOp) -> bool:
    """Return whether a term of a sum, or the condition under which it counts, compares an index with `arange`."""
    left, seen = [x], {x}
    while left:
        u = left.pop()
        if u.op in (Ops.CMPNE, Ops.CMPEQ) and dtypes.is_int(u.src[0].dtype) and sum(map(_counts, u.src)) == 1:
            return True
        for s in u.src if u.op in _TERM else ():
            if s not in seen:
                seen.add(s)
                left.append(s)
    return False


_TERM = GroupOp.Movement | {Ops.WHERE, Ops.CAST, Ops.MUL, Ops.AND, Ops.OR, Ops.CMPNE, Ops.CMPEQ}


def _counts(u: UOp) -> bool:
    """Return whether a value is `arange`: a sum of constants."""
    return u.device is None and any(s.op is Ops.REDUCE for s in u.toposort())


def install() -> None:
    ours = {private_api.remove_bufferize: _inline_unless_kept, private_api.split_reduceop: _split_unless_selecting}
    for name in ("pm_remove_bufferize", "earliest_rewrites"):
        rules = getattr(private_api.rangeify, name).patterns
        setattr(private_api.rangeify, name, PatternMatcher([(pattern, ours.get(f, f)) for pattern, f in rules]))
