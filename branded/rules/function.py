"""`@function`: a body that is batched once, with batched parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from tinygrad.uop.ops import Ops, UOp

from branded.brand import Brand, enter_all
from branded.dispatch import Batched, Bundle, Pass, Resolution, lower, rule
from branded.primitive import params, primitive_of, results
from branded.rows import Row, row_of, stage


@rule(Ops.FUNCTION)
def function(u: UOp, how: Resolution, _: Batched, *args: Batched) -> Bundle:
    """vmap(function(body))(xs) = function(vmap(body))(xs), or what the primitive that it is says of itself."""
    run = how.within or Pass()
    if (p := primitive_of(u)) is not None:
        return p.batch(u, run, args)
    out = batch_body(u, run, args)
    if u.arg.grad_fxn is None:
        return out
    gradient = _batch_gradient(u, tuple(x.row for x in args), out.rows)
    return out._replace(uop=out.uop.replace(arg=dataclasses.replace(u.arg, grad_fxn=gradient)))


def batch_body(u: UOp, run: Pass, args: Sequence[Batched]) -> Bundle:
    """The function with its body batched.  The same body on the same rows stays one body."""
    body, rows = u.src[0], tuple(x.row for x in args)
    if (done := run.bodies.get((body, rows))) is None:
        env: dict[UOp, Batched | Bundle] = {}
        for p in params(body):
            if p.arg.slot < len(rows) and (row := rows[p.arg.slot]):
                env[p] = Batched(args[p.arg.slot].uop.param_like(p.arg.slot), row)
        outs = run.run(body.src, env, None)
        done = run.bodies[body, rows] = Bundle(UOp.maketuple(*(o.uop for o in outs)), tuple(o.row for o in outs))
    return Bundle(UOp(Ops.FUNCTION, u.dtype, (done.uop, *(x.uop for x in args)), u.arg), done.rows)


@rule(Ops.GETTUPLE)
def gettuple(u: UOp, how: Resolution, x: Bundle) -> Batched:
    """vmap(f)(xs)[i] = the i-th result of the batched function."""
    return Batched(results(x.uop)[u.arg], x.rows[u.arg])


@rule(Ops.TUPLE)
def tuple_(u: UOp, how: Resolution, *xs: Batched) -> Bundle:
    """vmap(x, y -> (x, y))(xs, ys) = (xs, ys)."""
    return Bundle(u.replace(src=tuple(x.uop for x in xs)), tuple(x.row for x in xs))


def _batch_gradient(u: UOp, rows: tuple[Row, ...], out_rows: tuple[Row, ...]) -> Callable[..., Any]:
    """vmap of the gradient that the user wrote: it sees per-example cotangents and the per-example call."""
    single = len(u.src[0].src) == 1

    def gradient(*cotangents: UOp, call: UOp) -> tuple[UOp | None, ...]:
        fresh = {b: Brand(b.size, b.name) for row in (*rows, *out_rows) for b in row}
        one = of_one(u, call.src[1:], rows, fresh)
        grads = [enter(g, row, fresh) for g, row in zip(cotangents, out_rows, strict=True)]
        out = u.arg.grad_fxn(grads[0], one) if single else u.arg.grad_fxn(*grads, call=one)
        return tuple(None if g is None else total(g, row, fresh) for g, row in zip(out, rows, strict=True))

    def first(cotangent: UOp, call: UOp) -> tuple[UOp | None, ...]:
        return gradient(cotangent, call=call)

    return first if single else gradient


def of_one(u: UOp, args: Sequence[UOp], rows: Sequence[Row], fresh: dict[Brand, Brand]) -> UOp:
    """The call `u` of one example, with its arguments from those of all."""
    own = [enter(x, row, fresh) for x, row in zip(args, rows, strict=True)]
    return UOp(Ops.FUNCTION, u.dtype, (u.src[0], *own), u.arg)


def enter(x: UOp, row: Row, fresh: dict[Brand, Brand]) -> UOp:
    """`x` of one example, in fresh brands."""
    return enter_all(x, [fresh[b] for b in row])


def together(x: UOp, row: Row, fresh: dict[Brand, Brand]) -> UOp:
    """The values of all examples, with an axis for each brand of `row`."""
    for b in reversed([fresh[b] for b in row]):
        x = stage(x, b) if b in row_of(x) else x.expand((b.size, *x.shape))
    return lower([x])[0]


def total(g: UOp, row: Row, fresh: dict[Brand, Brand]) -> UOp:
    """The cotangent of an argument: one for each example of its own brands, summed over the others."""
    own = [fresh[b] for b in row]
    for b in [b for b in row_of(g) if b in fresh.values() and b not in own]:
        g = stage(g, b)._rop(Ops.ADD, (0,))
    return together(g, row, fresh)
