"""Predication: make the steps of finished examples, and branches that are not taken, safe to compute.

A batched `cond` computes both branches, and a batched `while_loop` continues until all examples have finished.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tinygrad.uop.ops import Ops, UOp

from branded.core.tracing.step import like, pairs
from branded.graph.primitive import at_slot, primitive_of
from branded.graph.rows import is_differentiated
from branded.graph.tags import is_tagged
from branded.graph.uops import is_float, replace_ops

_DIVISIONS = {Ops.CDIV, Ops.CMOD, Ops.FLOORDIV, Ops.FLOORMOD}


def predicate(outs: Sequence[UOp], flag: UOp, *, effects: bool = False, done: Iterable[UOp] = ()) -> list[UOp]:
    """Return values that are unchanged where `flag` is true.

    Elsewhere integer divisions divide by one, and host callbacks are not called.

    With `effects`, effects are also restricted to examples with this flag.  The nodes in `done` stay unchanged.
    """

    def divides(u: UOp) -> UOp | None:
        if (p := primitive_of(u)) is not None:
            return p.predicated(u, flag, effects)
        if u.op is Ops.FUNCTION and u.arg.grad_fxn is None:
            return safe_body(u, flag, effects)
        if u.op is Ops.GETTUPLE and u.src[0].op is Ops.TUPLE:  # the result of a loop that was rewritten
            out: UOp = u.src[0].src[u.arg]
            return out
        if u.op not in _DIVISIONS or is_float(u) or u.src[1].op is Ops.CONST:
            return None
        return u.replace(src=(u.src[0], flag.where(u.src[1], u.src[1].const_like(1))))

    graph = UOp(Ops.SINK, src=tuple(outs)).toposort(is_differentiated, enter_calls=False)
    leaves = (u for u in graph if is_tagged(u))  # kept: the branch created none of them
    return replace_ops(outs, divides, at={u: u for u in (*done, *leaves)})


def safe_body(u: UOp, flag: UOp, effects: bool) -> UOp | None:
    """Predicate the body of a call, with the flag as its last argument; return None if nothing changes."""
    body = u.src[0].src
    new = predicate(body, at_slot(like(flag), len(u.src) - 1), effects=effects)
    if all(a is b for a, b in pairs(body, new)):
        return None
    return u.replace(src=(UOp.maketuple(*new), *u.src[1:], flag))
