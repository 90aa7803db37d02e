"""A part of a buffer that is made contiguous begins where vectors may be loaded, or it is a copy.

tinygrad makes `x[1:65].contiguous()` a view of `x` that begins at its second entry, and compiles kernels that load four
entries at once from there: a segmentation fault, since such a load must begin at a multiple of 16 bytes.
"""

from __future__ import annotations

from tinygrad.uop.ops import GroupOp, Ops, PatternMatcher, UOp, UPat

from branded.patches import tg

VECTOR = 16
"""The longest vector that a kernel loads, in bytes."""


def _copy(c: UOp, src: UOp) -> UOp | None:
    if not isinstance(c.device, str) or tg.disk_like(c) or not tg.all_int(c.shape) or 0 in c.shape:
        return None
    buffer = src.base
    while buffer.op is Ops.BITCAST:
        buffer = buffer.src[0].base
    if buffer.op is not Ops.BUFFER or (view := src.contiguous_view()) is None:
        return None
    base, offset = view
    if offset * base.element_size() % VECTOR == 0:
        return None
    out: UOp | None = tg.replace_contig_with_store_after(c)
    return out


def install() -> None:
    part = UPat(Ops.CONTIGUOUS, src=(UPat(GroupOp.Movement | {Ops.BITCAST}, name="src"),), name="c")
    tg.tensor.pm_early_transform_tensor_graph = (
        PatternMatcher([(part, _copy)]) + tg.tensor.pm_early_transform_tensor_graph
    )
