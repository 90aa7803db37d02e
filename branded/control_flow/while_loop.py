"""A `while` loop as a primitive: it has a condition on its carry, and rules for batching and derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, UOp

from branded.control_flow.loop_primitive import Loop, call_loop, moved_carries, with_tangents
from branded.core.tracing.effect_tokens import gate as open_gate
from branded.core.tracing.predication import predicate
from branded.core.tracing.step import Args, Carry, Step, pairs, steady_carries, without_size_zero
from branded.dispatch import full
from branded.errors import DerivativeError
from branded.graph.primitive import Batched, BatchingRun, Bundle
from branded.graph.scope import Row
from branded.graph.uops import replace_ops
from branded.tinygrad_compat.private_api import reduce_axes


class While(Loop):
    """`while go(carry): carry = step(carry)`; the last result of the step is `go` of its input carry."""

    api_name = "while_loop"

    def always(self) -> list[int]:
        return [self.carries]

    def with_step(self, step: Step, args: Args[UOp]) -> list[UOp]:
        carries = list(map(Carry, step.params.carries, args.carries, step.nexts))
        return while_loop(carries, step.outs[0], dict(pairs(step.params.fixed, args.fixed)), *args.gate)

    def batch(self, u: UOp, run: BatchingRun, args: Sequence[Batched]) -> Bundle:
        """Run until the last example is done; an example that is done keeps its state.

        Example: `while c < 10: c = 2 * c`, for c = 3 and 9.

            go     (True, True)    (True, False)    (False, False): the end
            c      (3, 9)          (6, 18)          (12, 18): the second is done, and is not doubled
        """
        step, parts = self.step_of(u), self.cut(args)
        # a done example still computes values that it discards, and a division by zero would stop all examples
        new = self.for_all(step._replace(nexts=predicate(step.nexts, step.outs[0], effects=True)), parts, run)
        nexts, (go,) = [full(x, row) for x, row in pairs(new.nexts, new.rows)], new.outs
        for gate in parts.gate:
            if zipped := tuple(b for b in gate.row if b in go.row):  # over other brands the loop stops as a whole
                gate = Batched(
                    reduce_axes(gate.uop, Ops.MAX, tuple(i for i, b in enumerate(gate.row) if b not in zipped)), zipped
                )
                go = go._replace(uop=go.uop & full(gate, go.row))
        flag = go.uop
        if go.row:
            carried = zip(nexts, new.carries, new.rows, strict=True)
            nexts = [_align_flags(go, row, w.shape).where(x, w) for x, w, row in carried]
            flag = reduce_axes(flag, Ops.MAX, tuple(range(len(go.row))))
        finals = while_loop(new.batched_carries(parts, nexts), flag, new.known, self.gate(parts))
        return Bundle(UOp.maketuple(*finals), tuple(new.rows))

    def jvp(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        """Build one loop over values and tangents."""
        step, args, n = self.step_of(u), self.cut(u.src[1:]), self.carries
        dcarries, _ = moved_carries(step._replace(outs=[]), args, self.cut(tangents), {})
        finals = while_loop(
            [*map(Carry, step.params.carries, args.carries, step.nexts), *(c for c in dcarries if c is not None)],
            step.outs[0],
            dict(pairs(step.params.fixed, args.fixed)),
            *args.gate,
        )
        return with_tangents(finals[:n], dcarries, finals[n:])

    def vjp(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        raise DerivativeError(
            "while_loop: reverse mode needs a loop with a known number of steps",
            fix="use scan, fori_loop with int bounds, or forward mode (jvp, jacfwd)",
        )


class WhileLoop(NamedTuple):
    """A while loop whose step is traced, and that is not yet part of a graph."""

    carries: list[Carry]
    go: UOp

    def build(self, more: Sequence[Carry] = ()) -> list[UOp]:
        """Return the last carries, and the last values of additional ones."""
        return while_loop([*self.carries, *more], self.go, gate=open_gate())


def while_loop(
    carries: Sequence[Carry], go: UOp, constants: Mapping[UOp, UOp] | None = None, gate: UOp | None = None
) -> list[UOp]:
    """Build a loop that runs while `go`, a function of the carries, is true; it makes no step if `gate` is false."""
    steady = {**(constants or {}), **steady_carries(carries)}
    results = without_size_zero(carries, [], replace_ops([*(c.next for c in carries), go], steady.get))
    moving = [c._replace(next=x) for c, x in pairs(carries, results[:-1]) if c.param not in steady]
    if not moving:
        return [c.init for c in carries]
    finals = call_loop(While, moving, [], [results[-1].cast(dtypes.bool)], gate)
    last = dict(zip((c.param for c in moving), finals, strict=True))
    return [last.get(c.param, c.init) for c in carries]


def _align_flags(go: Batched, row: Row, shape: tuple[Any, ...]) -> UOp:
    """Reshape the flags of the examples to select between values with these brands and this shape."""
    sizes = tuple(b.size if b in go.row else 1 for b in row)
    return go.uop.reshape(sizes + (1,) * (len(shape) - len(row)))
