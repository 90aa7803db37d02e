"""A sum over several devices that one device alone gets is a reduce, where tinygrad sends it to all of them first.

Of `x.sum(0).to("CPU:0")`, with the rows of `x` on n devices: each sends its own sum there, n - 1 in all, and not one to
each other, n (n - 1).  So is the gradient by a weight on one device, of examples on several.
"""

from __future__ import annotations

from tinygrad.uop.ops import GroupOp, Ops, PatternMatcher, UOp, UPat

from branded.tinygrad_compat import private_api


def _to_one(copy: UOp) -> UOp | None:
    if not isinstance(copy.arg, str):
        return None
    views = list[tuple[UOp, int]]()
    u = copy.src[0]
    while (at := _one(u)) is not None:
        views.append((u, at))
        u = u.src[at]
    if u.op is not Ops.ALLREDUCE or isinstance(u.arg[1], str):
        return None
    out = u.replace(arg=(u.arg[0], copy.arg))
    for view, at in reversed(views):
        out = view.replace(src=(*view.src[:at], out, *view.src[at + 1 :]))
    return out


def _one(u: UOp) -> int | None:
    """The operand from which the devices have what they have in `u`, all alike; None where there is no one such."""
    if u.op not in GroupOp.Movement and u.op not in GroupOp.Elementwise:
        return None
    found = [i for i, s in enumerate(u.src) if s.device is not None]
    return found[0] if len(found) == 1 else None


def install() -> None:
    private_api.rangeify.multi_pm = (
        PatternMatcher([(UPat(Ops.COPY, name="copy"), _to_one)]) + private_api.rangeify.multi_pm
    )
