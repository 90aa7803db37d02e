"""A fix for views of contiguous views of a buffer.

`x[:1].contiguous()` is a view of the buffer of `x`, and so is `x[:1].contiguous()[:, :1]`. tinygrad does not look
through the `contiguous`, and reading the second view raises "non-contiguous view is not supported". A realized
`x.detach().T` that is contiguous has the same problem, since `detach` and `contiguous_backward` stay in the view.
"""

from __future__ import annotations

from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat

from branded.tinygrad_compat import private_api


def _through(view: UOp, c: UOp) -> UOp | None:
    base = c
    while base.op in _SAME and base.arg is None:
        base = base.src[0].base
    return c.src[0].index(*view.src[1:]) if base.op is Ops.BUFFER else None


_SAME = (Ops.CONTIGUOUS, Ops.CONTIGUOUS_BACKWARD, Ops.DETACH)


def install() -> None:
    view = UPat(Ops.INDEX, src=(UPat(_SAME, name="c"),), allow_any_len=True, name="view")
    private_api.ops.pm_contiguous_view_offset = (
        PatternMatcher([(view, _through)]) + private_api.ops.pm_contiguous_view_offset
    )
