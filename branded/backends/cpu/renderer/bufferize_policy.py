"""Which values are worked out once and kept in memory, and not again by each kernel that reads them.

tinygrad's scheduler puts a value into memory where kernels that go through it in different ways read it, and takes it
out again where it is worked out from few buffers, whatever that costs: softmax has each `exp` twice, once for the sum
and once for what is divided by it.  What has an `exp`, a `log` or the like in it stays in memory, on the CPU, if it is
no larger than what it is worked out from: an outer product that is summed at once never is there as a whole.

A value that reads many elements stays in memory too, on every device.  A kernel that reads it in two places has it
twice, so a chain of such values would double at each step: 18 steps of a stencil do not end in tinygrad alone.
"""

from __future__ import annotations

import math

from tinygrad.uop.ops import Ops, PatternMatcher, UOp

from branded.backends.cpu.renderer.loops import room
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.private_api import AddrSpace

DEAR = {Ops.EXP2, Ops.LOG2, Ops.SIN, Ops.POW, Ops.RECIPROCAL}
"""What takes longer to work out than to read: `tanh`, `sigmoid`, `erf` and `gelu` have an `exp` and a division."""
FEW, MANY = 1 << 12, 1 << 20
"""So few numbers are worked out again before a kernel more pays; an `exp` alone where no cache has so many."""
READS, OPERATIONS = 8, 512
"""A value that reads more elements for each of its own, or has more operations, is not computed in several places."""
_MEMORY = {Ops.AFTER, Ops.STAGE, Ops.PARAM, Ops.BUFFER, Ops.MSTACK, Ops.MSELECT}


def is_kept(value: UOp, stage: UOp) -> bool:
    """Is what the scheduler would work out again better kept?  `stage` says which memory it would take."""
    if not (stage.arg.addrspace == AddrSpace.GLOBAL and str(stage.arg.device).split(":")[0] == "CPU"):
        return False
    if not all(isinstance(n, int) for n in stage.shape) or (size := stage.numel()) < FEW:
        return False
    inside = value.toposort(gate=lambda u: u.op not in _MEMORY)
    if not (dear := [u.op for u in inside if u.op in DEAR]) or dear == [Ops.RECIPROCAL]:
        return False
    if size > MANY and dear == [Ops.EXP2]:
        return False
    read = dict[UOp, int]()
    for u in inside:
        for s in u.src:
            if s.op in _MEMORY:
                read[s] = max(read.get(s, 0), int(s.numel()) // (parts(u) if u.op is Ops.INDEX else 1))
    return bool(size <= sum(read.values()))


def parts(index: UOp) -> int:
    """Of so many parts of a buffer one is read at a time: of all steps of a loop that of one."""
    within = UOp.sink(*index.src[1:]).toposort()
    variables = [v for v in within if v.op in (Ops.PARAM, Ops.BUFFER) and v.addrspace is AddrSpace.ALU]
    return math.prod(int(v.vmax - v.vmin) + 1 for v in variables)


def is_long(value: UOp) -> bool:
    """Would a chain of values like this one double at each step?"""
    inside = value.toposort(gate=lambda u: u.op not in _MEMORY)
    return len(inside) > OPERATIONS or sum(u.op is Ops.INDEX for u in inside) > READS


def _removed(src: UOp, buf: UOp, idx: UOp) -> UOp | None:
    if room.value and (is_kept(src, buf) or is_long(src)):
        return None
    found: UOp | None = private_api.remove_bufferize(src, buf, idx)
    return found


def install() -> None:
    rules = private_api.rangeify.pm_remove_bufferize.patterns
    new = [(pattern, _removed if f is private_api.remove_bufferize else f) for pattern, f in rules]
    private_api.rangeify.pm_remove_bufferize = PatternMatcher(new)
