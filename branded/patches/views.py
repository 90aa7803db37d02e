"""A part of a part of a buffer can be read where the first part was made contiguous.

`x[:1].contiguous()` is a view of the buffer of `x`, and so is `x[:1].contiguous()[:, :1]`; tinygrad does not see that
through the `contiguous`, and reading it raises "non-contiguous view is not supported".
"""

from __future__ import annotations

import tinygrad.uop.ops as tg_ops
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat


def _through(view: UOp, c: UOp) -> UOp | None:
    base = c
    while base.op is Ops.CONTIGUOUS:
        base = base.src[0].base
    return c.src[0].index(*view.src[1:]) if base.op is Ops.BUFFER else None


def install() -> None:
    view = UPat(Ops.INDEX, src=(UPat(Ops.CONTIGUOUS, name="c"),), allow_any_len=True, name="view")
    tg_ops.pm_contiguous_view_offset = PatternMatcher([(view, _through)]) + tg_ops.pm_contiguous_view_offset
