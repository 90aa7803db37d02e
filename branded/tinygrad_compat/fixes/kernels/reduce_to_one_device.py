"""A reduce to one device, for sums over several devices that only one of them receives.

tinygrad does an all-reduce first. For `x.sum(0).to("CPU:0")` with the rows of `x` on n devices, every device sends its
sum to every other: n (n - 1) transfers. Here each sends its sum to the target: n - 1 transfers. This also covers the
gradient with respect to a weight on one device, for examples on several.
"""

from __future__ import annotations

from tinygrad.uop.ops import GroupOp, Ops, PatternMatcher, UOp, UPat

from branded.tinygrad_compat import private_api


def _to_one(copy: UOp) -> UOp | None:
    if not isinstance(copy.arg, str):
        return None
    views = list[tuple[UOp, int]]()
    u = copy.src[0]
    while (index := _one(u)) is not None:
        views.append((u, index))
        u = u.src[index]
    if u.op is not Ops.ALLREDUCE or isinstance(u.arg[1], str):
        return None
    out = u.replace(arg=(u.arg[0], copy.arg))
    for view, index in reversed(views):
        out = view.replace(src=(*view.src[:index], out, *view.src[index + 1 :]))
    return out


def _one(u: UOp) -> int | None:
    """Return the index of the only operand with a device, if `u` is a movement or elementwise, else None."""
    if u.op not in GroupOp.Movement and u.op not in GroupOp.Elementwise:
        return None
    indices = [i for i, s in enumerate(u.src) if s.device is not None]
    return indices[0] if len(indices) == 1 else None


def install() -> None:
    private_api.rangeify.multi_pm = (
        PatternMatcher([(UPat(Ops.COPY, name="copy"), _to_one)]) + private_api.rangeify.multi_pm
    )
