"""`@function`: a body that is batched once, with batched parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from tinygrad.uop.ops import Ops, UOp

from branded.brand import Brand
from branded.dispatch import Batched, Bundle, Pass, Resolution, lower, rule
from branded.primitive import primitive_of
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
    one = OneExample(u, tuple(x.row for x in args), out.rows)
    return out._replace(uop=out.uop.replace(arg=dataclasses.replace(u.arg, grad_fxn=one.gradient())))


def batch_body(u: UOp, run: Pass, args: Sequence[Batched]) -> Bundle:
    """The function with its body batched.  The same body on the same rows stays one body."""
    body, rows = u.src[0], tuple(x.row for x in args)
    if (done := run.bodies.get((body, rows))) is None:
        env: dict[UOp, Batched | Bundle] = {}
        for p in body.toposort(enter_calls=False):
            if p.op is Ops.PARAM and p.arg.slot < len(rows) and (row := rows[p.arg.slot]):
                env[p] = Batched(args[p.arg.slot].uop.param_like(p.arg.slot), row)
        outs = run.run(body.src, env, None)
        done = run.bodies[body, rows] = Bundle(UOp.maketuple(*(o.uop for o in outs)), tuple(o.row for o in outs))
    return Bundle(UOp(Ops.FUNCTION, u.dtype, (done.uop, *(x.uop for x in args)), u.arg), done.rows)


@rule(Ops.GETTUPLE)
def gettuple(u: UOp, how: Resolution, x: Bundle) -> Batched:
    """vmap(f)(xs)[i] = the i-th result of the batched function."""
    value = x.uop.src[u.arg] if x.uop.op is Ops.TUPLE else x.uop.gettuple(u.arg)
    return Batched(value, x.rows[u.arg])


@rule(Ops.TUPLE)
def tuple_(u: UOp, how: Resolution, *xs: Batched) -> Bundle:
    """vmap(x, y -> (x, y))(xs, ys) = (xs, ys)."""
    return Bundle(u.replace(src=tuple(x.uop for x in xs)), tuple(x.row for x in xs))


class OneExample:
    """Rules of one example for a call on a batch: the examples are entered again, and what the rule gives is left."""

    def __init__(self, u: UOp, rows: Sequence[Row], out_rows: Sequence[Row]) -> None:
        self.u, self.rows, self.out_rows = u, rows, out_rows

    def opened(self, args: Sequence[UOp]) -> tuple[dict[Brand, Brand], UOp]:
        """Fresh brands, and the call of one example."""
        fresh = {b: Brand(b.size, b.name) for row in (*self.rows, *self.out_rows) for b in row}
        own = [enter(x, row, fresh) for x, row in zip(args, self.rows, strict=True)]
        return fresh, UOp(Ops.FUNCTION, self.u.dtype, (self.u.src[0], *own), self.u.arg)

    def gradient(self) -> Callable[..., Any]:
        """The `grad_fxn` that the user wrote, for a batch: it sees per-example cotangents and the per-example call."""
        single = len(self.u.src[0].src) == 1

        def gradient(*cotangents: UOp, call: UOp) -> tuple[UOp | None, ...]:
            fresh, one = self.opened(call.src[1:])
            grads = [enter(g, row, fresh) for g, row in zip(cotangents, self.out_rows, strict=True)]
            out = self.u.arg.grad_fxn(grads[0], one) if single else self.u.arg.grad_fxn(*grads, call=one)
            return tuple(None if g is None else total(g, r, fresh) for g, r in zip(out, self.rows, strict=True))

        def first(cotangent: UOp, call: UOp) -> tuple[UOp | None, ...]:
            return gradient(cotangent, call=call)

        return first if single else gradient


def enter(x: UOp, row: Row, fresh: dict[Brand, Brand]) -> UOp:
    for b in row:
        x = fresh[b].enter(x, 0)
    return x


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
