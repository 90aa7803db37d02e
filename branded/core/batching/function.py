"""`@function`: the body is batched once, with batched parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from tinygrad.uop.ops import Ops, UOp

from branded.core.batching.store import order_as_read
from branded.core.boundary import enter, enter_all, lower, stack_examples, stage
from branded.core.brand import Brand
from branded.core.sharding.per_shard import on_each
from branded.dispatch import Pass, Resolution, rule
from branded.graph.primitive import Batched, BatchingRun, Bundle, OnOneDevice, params, primitive_of, results
from branded.graph.rows import row_of
from branded.graph.scope import Row, open_brands, reopen_scopes
from branded.graph.uops import inverse, permute, replace_ops
from branded.tinygrad_compat.private_api import reduce_axes


@rule(Ops.FUNCTION)
def function(u: UOp, resolution: Resolution, _: Batched, *args: Batched) -> Bundle:
    """vmap(function(body))(xs) = function(vmap(body))(xs); a primitive is batched by its own rule."""
    run = resolution.within or Pass()
    if (p := primitive_of(u)) is not None:
        is_spread = p.is_local and not isinstance(run, OnOneDevice)
        on_devices = dict.fromkeys(b for x in args for b in x.row if b.devices) if is_spread else ()
        return on_each(u, run, args, on_devices) if on_devices else p.batch(u, run, args)
    if u.arg.grad_fxn is None:
        return _batch_as_read(u, run, args)
    out = batch_body(u, run, args)
    gradient = _batch_gradient(u, tuple(x.row for x in args), out.rows)
    return out._replace(uop=out.uop.replace(arg=dataclasses.replace(u.arg, grad_fxn=gradient)))


def batch_body(u: UOp, run: BatchingRun, args: Sequence[Batched]) -> Bundle:
    """Batch the body of a function; the same body with the same rows is batched once and shared."""
    body, rows = u.src[0], tuple(x.row for x in args)
    if (done := run.bodies.get((body, rows))) is None:
        env: dict[UOp, Batched | Bundle] = {}
        for p in params(body):
            if p.arg.slot < len(rows) and (row := rows[p.arg.slot]):
                env[p] = Batched(args[p.arg.slot].uop.param_like(p.arg.slot), row)
        outs = run.run(body.src, env, None)
        done = run.bodies[body, rows] = _bundle(outs)
    return Bundle(UOp(Ops.FUNCTION, u.dtype, (done.uop, *(x.uop for x in args)), u.arg), done.rows)


def _batch_as_read(u: UOp, run: BatchingRun, args: Sequence[Batched]) -> Bundle:
    """Batch a function so that its arguments and results keep the order of the memory that is read.

    Inside the body, and outside of the call, the brand axes are in front.
    """
    orders = tuple(order_as_read(x) for x in args)
    args = [x._replace(uop=permute(x.uop, order)) for x, order in zip(args, orders, strict=True)]
    key = u.src[0], tuple(x.row for x in args), orders
    if (done := run.bodies.get(key)) is None:
        env: dict[UOp, Batched | Bundle] = {}
        for p in params(u.src[0]):
            if p.arg.slot < len(args) and (row := args[p.arg.slot].row):
                inside = args[p.arg.slot].uop.param_like(p.arg.slot)
                env[p] = Batched(permute(inside, inverse(orders[p.arg.slot])), row)
        done = run.bodies[key] = _bundle(run.run(u.src[0].src, env, None))
    outs = [Batched(y, row) for y, row in zip(done.uop.src, done.rows, strict=True)]
    after = [order_as_read(y) for y in outs]
    body = UOp.maketuple(*(permute(y.uop, order) for y, order in zip(outs, after, strict=True)))
    call = UOp(Ops.FUNCTION, u.dtype, (body, *(x.uop for x in args)), u.arg)
    back = (permute(call.gettuple(i), inverse(order)) for i, order in enumerate(after))
    return Bundle(UOp.maketuple(*back), done.rows)


def _bundle(ys: Sequence[Batched]) -> Bundle:
    return Bundle(UOp.maketuple(*(y.uop for y in ys)), tuple(y.row for y in ys))


@rule(Ops.GETTUPLE)
def gettuple(u: UOp, resolution: Resolution, x: Bundle) -> Batched:
    """vmap(f)(xs)[i] = the i-th result of the batched function."""
    return Batched(results(x.uop)[u.arg], x.rows[u.arg])


@rule(Ops.TUPLE)
def tuple_(u: UOp, resolution: Resolution, *xs: Batched) -> Bundle:
    """vmap(x, y -> (x, y))(xs, ys) = (xs, ys)."""
    return Bundle(u.replace(src=tuple(x.uop for x in xs)), tuple(x.row for x in xs))


def _batch_gradient(u: UOp, rows: tuple[Row, ...], out_rows: tuple[Row, ...]) -> Callable[..., Any]:
    """vmap of the user's gradient: it receives per-example cotangents and the per-example call."""
    single, examples = len(u.src[0].src) == 1, Examples(rows, out_rows)

    def gradient(*cotangents: UOp, call: UOp) -> tuple[UOp | None, ...]:
        with examples.reopen_brands() as closed:
            one = UOp(Ops.FUNCTION, u.dtype, (u.src[0], *examples.arguments(call.src[1:])), u.arg)
            grads = examples.cotangents(cotangents)
            out = u.arg.grad_fxn(grads[0], one) if single else u.arg.grad_fxn(*grads, call=one)
        return tuple(examples.totals(out, closed))

    def first(cotangent: UOp, call: UOp) -> tuple[UOp | None, ...]:
        return gradient(cotangent, call=call)

    return first if single else gradient


class Examples:
    """The examples of a batched call, for a derivative that is written for one example.

    A shared argument is copied for each example.  The cotangent of a shared argument is the sum over its copies.  A
    shared result is the copy of the first example.
    """

    def __init__(self, rows: Sequence[Row], results: Sequence[Row], scope: Row = ()) -> None:
        """Store `rows`, the rows of the arguments, and `scope`, other brands that were open at the call."""
        self.rows, self.results = tuple(rows), tuple(results)
        self.brands = tuple(dict.fromkeys(b for row in (*self.rows, *self.results) for b in row))
        self.scope = scope

    def over(self, rows: Sequence[Row], results: Sequence[Row]) -> Examples:
        """Return the examples of the same call after another vmap has batched it."""
        # if a new row repeats a brand, it is a second loop over the same examples and needs a new brand
        other = {b: Brand(b.size) for row in (*rows, *results) for b in row if b in self.brands}

        def both(new: Sequence[Row], old: Sequence[Row]) -> list[Row]:
            return [(*(other.get(b, b) for b in m), *n) for m, n in zip(new, old, strict=True)]

        return Examples(both(rows, self.rows), both(results, self.results), self.scope)

    def reopen_brands(self) -> AbstractContextManager[Row]:
        """Reopen the brands while the derivative of one example is computed; gives the brands that were closed."""
        return reopen_scopes(dict.fromkeys((*self.scope, *self.brands)))

    def arguments(self, xs: Sequence[UOp]) -> list[UOp]:
        return [enter_all(x, row) for x, row in zip(xs, self.rows, strict=True)]

    def tangents(self, ds: Sequence[UOp | None]) -> list[UOp | None]:
        return [None if d is None else enter_all(d, row) for d, row in zip(ds, self.rows, strict=True)]

    def cotangents(self, gs: Sequence[UOp | None]) -> list[UOp | None]:
        def given(g: UOp | None, row: Row) -> UOp | None:
            if g is None or not all(b.size for b in row):
                return None
            g = enter_all(g, row)
            for b in self.brands:
                if b.size and b not in row:
                    g = enter(UOp.arange(b.size), b).eq(0).where(g, g.const_like(0))
            return g

        return [given(g, row) for g, row in zip(gs, self.results, strict=True)]

    def of_all(self, ds: Sequence[UOp | None], closed: Row) -> list[UOp | None]:
        """Return the tangents of the results, for all examples."""

        def shared(d: UOp, row: Row) -> UOp:
            for b in row_of(d):
                if b not in row and (b in self.brands or b in closed):
                    d = stage(d, b).shrink(((0, 1), *((0, s) for s in d.shape))).reshape(d.shape)
            return d

        return self._stack_results(ds, self.results, closed, shared)

    def totals(self, gs: Sequence[UOp | None], closed: Row) -> list[UOp | None]:
        """Return the cotangents of the arguments, for all examples."""

        def total(g: UOp, row: Row) -> UOp:
            for b in self.brands:
                if b.size and b not in row:
                    g = reduce_axes(stage(g, b), Ops.ADD, (0,)) if b in row_of(g) else g * b.size
            for b in row_of(g):
                if b in closed and b not in self.brands:  # all copies are equal
                    g = reduce_axes(stage(g, b), Ops.ADD, (0,)) / b.size
            return g

        return self._stack_results(gs, self.rows, closed, total)

    def _stack_results(
        self, xs: Sequence[UOp | None], rows: Sequence[Row], closed: Row, alone: Callable[[UOp, Row], UOp]
    ) -> list[UOp | None]:
        """Stack the values of all examples; `alone` reduces a value to its row if it varies over more brands."""
        values = [
            (alone(self._fill_empty_brands(x, closed), row), row)
            for x, row in zip(xs, rows, strict=True)
            if x is not None
        ]
        done = iter(lower([_leave(x, row) for x, row in values], open_brands()))
        return [None if x is None else next(done) for x in xs]

    def _fill_empty_brands(self, x: UOp, closed: Row) -> UOp:
        """Replace the values of empty brands in `x` by ones, because a shared value is taken from the first example."""
        empty = {b.range for b in (*self.brands, *closed) if not b.size}
        if not empty:
            return x

        def one(u: UOp) -> UOp | None:
            return UOp.const(1, u.dtype).expand(u.shape) if u.op is Ops.INDEX and u.src[1] in empty else None

        return replace_ops([x], one)[0]


def _leave(x: UOp, row: Row) -> UOp:
    for b in reversed(row):
        x = stack_examples(x, b)
    return x
