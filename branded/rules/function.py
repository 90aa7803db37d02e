"""`@function`: a body that is batched once, with batched parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from tinygrad.uop.ops import Ops, UOp

from branded.brand import Brand
from branded.dispatch import Batched, Bundle, Pass, Resolution, lower, rule
from branded.rows import Row, row_of, stage


@rule(Ops.FUNCTION)
def function(u: UOp, how: Resolution, _: Batched, *args: Batched) -> Bundle:
    """vmap(function(body))(xs) = function(vmap(body))(xs).  The same body on the same rows stays one body."""
    body, rows, run = u.src[0], tuple(x.row for x in args), how.within or Pass()
    if (done := run.bodies.get((body, rows))) is None:
        env: dict[UOp, Batched | Bundle] = {}
        for p in body.toposort(enter_calls=False):
            if p.op is Ops.PARAM and p.arg.slot < len(rows) and (row := rows[p.arg.slot]):
                env[p] = Batched(args[p.arg.slot].uop.param_like(p.arg.slot), row)
        outs = run.run(body.src, env, None)
        done = run.bodies[body, rows] = Bundle(UOp.maketuple(*(o.uop for o in outs)), tuple(o.row for o in outs))
    info = u.arg
    if info.grad_fxn is not None:
        info = dataclasses.replace(info, grad_fxn=_batch_gradient(u, rows, done.rows))
    return Bundle(UOp(Ops.FUNCTION, u.dtype, (done.uop, *(x.uop for x in args)), info), done.rows)


@rule(Ops.GETTUPLE)
def gettuple(u: UOp, how: Resolution, x: Bundle) -> Batched:
    """vmap(f)(xs)[i] = the i-th result of the batched function."""
    return Batched(x.uop.gettuple(u.arg), x.rows[u.arg])


@rule(Ops.TUPLE)
def tuple_(u: UOp, how: Resolution, *xs: Batched) -> Bundle:
    """vmap(x, y -> (x, y))(xs, ys) = (xs, ys)."""
    return Bundle(u.replace(src=tuple(x.uop for x in xs)), tuple(x.row for x in xs))


def _batch_gradient(u: UOp, rows: tuple[Row, ...], out_rows: tuple[Row, ...]) -> Callable[..., Any]:
    """vmap of the gradient that the user wrote: it sees per-example cotangents and the per-example call."""
    single = len(u.src[0].src) == 1

    def gradient(*cotangents: UOp, call: UOp) -> tuple[UOp | None, ...]:
        fresh = {b: Brand(b.size, b.name) for row in (*rows, *out_rows) for b in row}

        def enter(x: UOp, row: Row) -> UOp:
            for b in row:
                x = fresh[b].enter(x, 0)
            return x

        args = [enter(x, row) for x, row in zip(call.src[1:], rows, strict=True)]
        one = UOp(Ops.FUNCTION, u.dtype, (u.src[0], *args), u.arg)
        grads = [enter(g, row) for g, row in zip(cotangents, out_rows, strict=True)]
        out = u.arg.grad_fxn(grads[0], one) if single else u.arg.grad_fxn(*grads, call=one)
        return tuple(None if g is None else _total(g, row, fresh) for g, row in zip(out, rows, strict=True))

    def first(cotangent: UOp, call: UOp) -> tuple[UOp | None, ...]:
        return gradient(cotangent, call=call)

    return first if single else gradient


def _total(g: UOp, row: Row, fresh: dict[Brand, Brand]) -> UOp:
    """The cotangent of an argument: one for each example of its own brands, summed over the others."""
    own = [fresh[b] for b in row]
    for b in [b for b in row_of(g) if b in fresh.values() and b not in own]:
        g = stage(g, b)._rop(Ops.ADD, (0,))
    for b in reversed(own):
        g = stage(g, b) if b in row_of(g) else g.expand((b.size, *g.shape))
    return lower([g])[0]
