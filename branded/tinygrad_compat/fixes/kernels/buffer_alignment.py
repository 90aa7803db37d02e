"""A fix for unaligned views: a contiguous part of a buffer is copied unless it starts at a vector boundary.

tinygrad makes `x[1:65].contiguous()` a view of `x` that starts at its second element. It then compiles kernels that
load four elements at a time from there: a segmentation fault, since such a load must be aligned to 16 bytes.
"""

from __future__ import annotations

from typing import Any

from tinygrad.uop.ops import Ops, PatternMatcher, UOp

from branded.tinygrad_compat import private_api

VECTOR = 16
"""The size of the longest vector that a kernel loads, in bytes."""

_original: Any = private_api.tensor.contiguous_mops_to_view


def _view(ctx: Any, c: UOp, src: UOp) -> UOp | None:
    """Apply tinygrad's rule without its second search for the view, an eighth of the calls of a short program."""
    buffer = src.base
    while buffer.op is Ops.BITCAST:
        buffer = buffer.src[0].base
    is_part = c.op is Ops.CONTIGUOUS and buffer.op is Ops.BUFFER and isinstance(c.device, str)
    if not is_part or private_api.disk_like(c) or not private_api.all_int(c.shape) or 0 in c.shape:
        out: UOp | None = _original(ctx, c, src)
        return out
    if (memory_view := src.contiguous_view()) is None:
        return None
    base, offset = memory_view
    if offset * base.element_size() % VECTOR:
        copy: UOp | None = private_api.replace_contig_with_store_after(c)
        return copy
    if base.op is not Ops.BUFFER:
        return None
    size = src.max_numel() * src.element_size() // base.element_size()
    ctx.views.add(view := base[offset : offset + size].bitcast(src.dtype))
    part: UOp = view.reshape(c.shape)
    return part


def is_view(u: UOp) -> bool:
    """Return whether `u.contiguous()` is a view of existing memory, not a copy."""
    view = u.contiguous_view()
    return view is not None and not view[1] * view[0].element_size() % VECTOR


def install() -> None:
    rules = private_api.tensor.pm_early_transform_tensor_graph.patterns
    private_api.tensor.pm_early_transform_tensor_graph = PatternMatcher(
        [(p, _view if f is _original else f) for p, f in rules]
    )
