"""Scan as a primitive: a loop with a fixed number of steps, and its rules for batching and derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

from tinygrad.dtype import strong_dtype
from tinygrad.uop.ops import Ops, UOp

from branded.autodiff.forward import zero
from branded.autodiff.reverse import gradients, in_reverse, ran_again
from branded.control_flow.loop_primitive import Loop, call_loop, moved_carries, or_zero, with_tangents
from branded.core.analysis.invariance import invariant_slice
from branded.core.tracing.effect_tokens import gate as open_gate
from branded.core.tracing.step import (
    Args,
    Carry,
    Input,
    Step,
    like,
    pairs,
    param,
    split_arguments,
    steady_carries,
    without_size_zero,
)
from branded.dispatch import full
from branded.graph.primitive import Batched, BatchingRun, Bundle, primitive_of
from branded.graph.scope import Row
from branded.graph.uops import is_float, lead, replace_ops

_TERMS = 16
"""The number of terms that make a sum slow."""


class Scan(Loop):
    """`for x in xs: carry, y = step(carry, x)`, with the `y`s stacked."""

    api_name = "scan"

    length: int

    def with_step(self, step: Step, args: Args[UOp]) -> list[UOp]:
        return self._run(step, args, [])[0]

    def batch(self, u: UOp, run: BatchingRun, args: Sequence[Batched]) -> Bundle:
        """Batch the step: vmap(scan(step))(xs) = scan(vmap(step))(xs), with the steps in front of the brands."""
        parts = self.cut(args)
        new = self.for_all(self.step_of(u), parts, run)
        finals, ys = scan(
            new.batched_carries(parts, (full(x, row) for x, row in pairs(new.nexts, new.rows))),
            [Input(w, _steps_first(a)) for w, a in pairs(new.inputs, parts.inputs)],
            [x.uop for x in new.outs],
            self.length,
            self.reverse,
            new.known,
            self.gate(parts),
        )
        stacked = [_brands_first(y, x.row) for y, x in pairs(ys, new.outs)]
        return Bundle(UOp.maketuple(*finals, *stacked), (*new.rows, *(x.row for x in new.outs)))

    def jvp(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        """Build one scan over values and tangents."""
        step, args, ts = self.step_of(u), self.cut(u.src[1:]), self.cut(tangents)
        moved = [(x, like(x), d) for x, d in pairs(step.params.inputs, ts.inputs) if d is not None]
        dcarries, dys = moved_carries(step, args, ts, {x: dx for x, dx, _ in moved})
        finals, ys = scan(
            [*map(Carry, step.params.carries, args.carries, step.nexts), *(c for c in dcarries if c is not None)],
            [*map(Input, step.params.inputs, args.inputs), *(Input(dx, d) for _, dx, d in moved)],
            [*step.outs, *(d for d in dys if d is not None)],
            self.length,
            self.reverse,
            dict(pairs(step.params.fixed, args.fixed)),
            *args.gate,
        )
        n, k = self.carries, len(step.outs)
        return with_tangents([*finals[:n], *ys[:k]], [*dcarries, *dys], [*finals[n:], *ys[k:]])

    def vjp(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        """Build the transpose: a scan from the end to the beginning, over the carries before each step.

        Example: `c, y = c * x, c`, in three steps.

            the loop         c0 -> c1 -> c2 -> c3
            its residuals    c0, c1, c2: the loop runs again and stacks the carry before each step, and slow values
            its transpose    ct(c3) -> ct(c2) -> ct(c1) -> ct(c0): ct(c) = ct(c') * x + ct(y), ct(x) = ct(c') * c

        A constant of the loop has the sum of its cotangents over all steps, which is an additional carry.
        """
        step, args, n, m = self.step_of(u), self.cut(u.src[1:]), self.carries, self.inputs
        wanted = self._wanted(u, needed)
        cts = {i: ct for i, ct in enumerate(cotangents[n:]) if ct is not None and is_float(step.outs[i])}
        ct_next = [like(step.params.carries[i]) for i in wanted.carries]
        ct_ys = [param((y := step.outs[i]).shape, y.dtype, y.device or self.device) for i in cts]
        roots = [*(step.nexts[i] for i in wanted.carries), *(step.outs[i] for i in cts)]
        targets = [x[i] for x, places in pairs(step.params, wanted) for i in places]
        flat_grads, _ = gradients(roots, [*ct_next, *ct_ys], targets)
        again = self._step_in_reverse(step, wanted)
        slow = {x: like(x) for x in _slow_values(flat_grads, step)} if again is None and not _to_transpose(step) else {}
        flat_grads = replace_ops(flat_grads, lambda _: None, at=slow)
        grads = split_arguments(flat_grads, len(wanted.carries), len(wanted.inputs))

        # a cotangent that is the same for each step, as for a sum over the steps, is stored once
        same = {p: x for p, ct in pairs(ct_ys, cts.values()) if (x := invariant_slice(ct, 0)) is not None}

        before = [c for c in step.params.carries if any(c in g.toposort(enter_calls=False) for g in flat_grads)]
        stored = [*before, *slow]
        residuals = self._residuals(u, again or step, args, stored) if stored or again else []
        firsts = [or_zero(cotangents[i], args.carries[i]) for i in wanted.carries]
        sums = [(like(args.fixed[i]), zero(args.fixed[i])) for i in wanted.fixed]
        finals, ys = scan(
            [
                *map(Carry, ct_next, firsts, grads.carries),
                *(Carry(total, first, total + g) for (total, first), g in pairs(sums, grads.fixed)),
            ],
            [
                *map(Input, [*before, *slow.values()], residuals),
                *map(Input, step.params.inputs, args.inputs),
                *(Input(p, ct) for p, ct in pairs(ct_ys, cts.values()) if p not in same),
            ],
            grads.inputs,
            self.length,
            not self.reverse,
            dict(pairs(step.params.fixed, args.fixed)) | same,
            *args.gate,
        )
        places = [*wanted.carries, *(n + m + i for i in wanted.fixed), *(n + i for i in wanted.inputs)]
        cotangent_of = dict(pairs(places, [*finals, *ys]))
        return [cotangent_of.get(i) for i in range(len(u.src) - 1)]

    def _wanted(self, u: UOp, needed: Set[int]) -> Args[int]:
        """Return the indices of the carries, inputs and constants that have a cotangent."""
        args, n, m = self.cut(u.src[1:]), self.carries, self.inputs
        return Args(
            [i for i, x in enumerate(args.carries) if is_float(x) and (self.uses(u, i) & needed or i in needed)],
            [i for i, x in enumerate(args.inputs) if is_float(x) and n + i in needed],
            [i for i, x in enumerate(args.fixed) if is_float(x) and n + m + i in needed],
        )

    def _step_in_reverse(self, step: Step, wanted: Args[int]) -> Step | None:
        """Return the step with its functions replaced by their reverse-mode forms; None if no function has one."""
        roots = [*step.nexts, *step.outs]
        new = in_reverse(roots, [x[i] for x, places in pairs(step.params, wanted) for i in places])
        if all(a is b for a, b in pairs(roots, new)):
            return None
        return step._replace(nexts=new[: self.carries], outs=new[self.carries :])

    def in_reverse(self, u: UOp, moved: Set[int]) -> list[UOp] | None:
        """Return the results of the loop in which functions have their reverse-mode forms; None if none has one."""
        new = self._step_in_reverse(self.step_of(u), self._wanted(u, moved))
        return None if new is None else self._run(new, self.cut(u.src[1:]), [])[0]

    def _residuals(self, u: UOp, step: Step, args: Args[UOp], values: Sequence[UOp]) -> list[UOp]:
        """Run the loop again, and return these values of each step: carries before it, and values that it computes."""
        results, residuals = self._run(step, args, values, whole=u)
        ran_again(u, results)
        return residuals

    def _run(
        self, step: Step, args: Args[UOp], values: Sequence[UOp], whole: UOp | None = None
    ) -> tuple[list[UOp], list[UOp]]:
        """Return the results of the loop, and these values of each step.

        Results that exist only to be transposed are taken from `whole`, the original call.
        """
        n, ys = self.carries, [*step.nexts, *step.outs]
        skipped = _to_transpose(step) if whole is not None else set()
        selected = [i for i in range(n) if i not in skipped], [i for i in range(n, len(ys)) if i not in skipped]
        every = list(map(Carry, step.params.carries, args.carries, step.nexts))
        stacked = list(dict.fromkeys([*(ys[i] for i in selected[1]), *values]))
        finals, stacks = scan(
            [every[i] for i in selected[0]],
            list(map(Input, step.params.inputs, args.inputs)),
            stacked,
            self.length,
            self.reverse,
            dict(pairs(step.params.fixed, args.fixed)),
            *args.gate,
        )
        stack_of = dict(pairs(stacked, stacks))
        result_of = dict(pairs(selected[0], finals)) | {i: stack_of[ys[i]] for i in selected[1]}
        results = [whole.gettuple(i) if whole is not None and i in skipped else result_of[i] for i in range(len(ys))]
        return results, [stack_of[x] for x in values]


def _slow_values(grads: Sequence[UOp], step: Step) -> list[UOp]:
    """Return the values of a step that are stored for its transpose, since sums make them slow to compute again.

    They are results of the step, or sums that are not larger than its results, as in `c, y = (w @ c).tanh(), c`.

    Source: the policy `dots_with_no_batch_dims_saveable` of `jax.checkpoint`, which stores matrix products.
    """
    results = {*step.nexts, *step.outs}
    there = UOp(Ops.SINK, src=tuple(results)).toposort(enter_calls=False)
    slow = set[UOp]()
    for u in there:
        is_sum = u.op is Ops.REDUCE and u.src[0].max_numel() >= _TERMS * u.max_numel()
        if is_sum or not slow.isdisjoint(u.src):
            slow.add(u)
    found, seen, left = list[UOp](), set[UOp](), [*grads]
    while slow and left:
        if (u := left.pop()) in seen:
            continue
        seen.add(u)
        may_be_stored = u in results or (u.op is Ops.REDUCE and any(u.max_numel() <= x.max_numel() for x in results))
        if u in slow and may_be_stored and u.dtype == strong_dtype(u.dtype):
            found.append(u)
        else:
            left += u.src[1:] if u.op is Ops.FUNCTION else u.src
    return found


def _to_transpose(step: Step) -> set[int]:
    """Return the indices of the step's results that exist only to be transposed."""
    ys, transposed = [*step.nexts, *step.outs], set[int]()
    every = UOp(Ops.SINK, src=tuple(ys)).toposort()
    if not (dead := {x for x in every if (p := primitive_of(x)) is not None and p.is_transposed}):
        return transposed
    graphs = [y.toposort() for y in ys]
    while more := {i for i, graph in enumerate(graphs) if i not in transposed and not graph.keys().isdisjoint(dead)}:
        transposed |= more
        dead |= {step.params.carries[i] for i in more if i < len(step.nexts)}
    return transposed


class ScanLoop(NamedTuple):
    """A scan whose step is traced, and that is not yet part of a graph."""

    carries: list[Carry]
    inputs: list[Input]
    outs: list[UOp]
    length: int
    reverse: bool

    def build(self, more: Sequence[Carry] = ()) -> list[UOp]:
        """Return the last carries, the stacked outputs, and the last values of additional carries."""
        k = len(self.carries)
        finals, ys = scan([*self.carries, *more], self.inputs, self.outs, self.length, self.reverse, gate=open_gate())
        return [*finals[:k], *ys, *finals[k:]]


def scan(
    carries: Sequence[Carry],
    inputs: Sequence[Input],
    outs: Sequence[UOp],
    length: int,
    reverse: bool,
    constants: Mapping[UOp, UOp] | None = None,
    gate: UOp | None = None,
) -> tuple[list[UOp], list[UOp]]:
    """Build a loop of `length` steps in a graph, and return the last carries and the stacked `outs`.

    `constants` holds the values of parameters that are constant over the steps. If `gate` is false there are no steps,
    and the stacked values are never read.
    """
    if not length:
        return [c.init for c in carries], [_zeros((0, *y.shape), y) for y in outs]
    steady = {**(constants or {}), **steady_carries(carries)}
    results = without_size_zero(carries, inputs, replace_ops([*(c.next for c in carries), *outs], steady.get))
    nexts, ys = results[: len(carries)], [y.cast(strong_dtype(y.dtype)) for y in results[len(carries) :]]
    moving = [c._replace(next=x) for c, x in pairs(carries, nexts) if c.param not in steady]
    some = [x for x in inputs if 0 not in x.param.shape]
    step_params = {c.param for c in moving} | {x.param for x in some}
    varying = [i for i, y in enumerate(ys) if not step_params.isdisjoint(y.toposort(enter_calls=False))]
    done = list[UOp]()
    if moving or varying:
        done = call_loop(Scan, moving, some, [ys[i] for i in varying], gate, length, reverse)
    last = {c.param: x for c, x in pairs(moving, done[: len(moving)])}
    stacked = dict(zip(varying, done[len(moving) :], strict=True))
    return (
        [last.get(c.param, c.init) for c in carries],
        [stacked[i] if i in stacked else y.expand((length, *y.shape)) for i, y in enumerate(ys)],
    )


def _zeros(shape: tuple[Any, ...], like: UOp) -> UOp:
    out: UOp = UOp.const(0, strong_dtype(like.dtype)).reshape((1,) * len(shape)).expand(shape)
    return out


def _steps_first(x: Batched) -> UOp:
    n = len(x.row)
    return lead(x.uop, (n, *range(n)))


def _brands_first(y: UOp, row: Row) -> UOp:
    n = len(row)
    return lead(y, (*range(1, n + 1), 0))
