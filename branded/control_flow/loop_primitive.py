"""Loops as primitives: a step that is traced once, and its rules for batching and derivatives.

The step is a graph of parameters: the carries, the slices of the inputs, and the constants. A loop is a FUNCTION of the
initial carries, the inputs and the constants. Its results are the last carries and the stacked outputs. A value that
does not change from step to step is a constant: it is computed once, before the loop. A transform of a loop is again a
loop, so transforms compose.
"""

from __future__ import annotations

import copy
import functools
import itertools
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from tinygrad import dtypes
from tinygrad.dtype import DType, strong_dtype
from tinygrad.uop.ops import Ops, UOp

from branded.autodiff.forward import push_forward, zero
from branded.core.boundary import enter_all, stage
from branded.core.sharding.layout import home_of_values
from branded.core.sharding.per_shard import call_on
from branded.core.sharding.resharding import laid_out_as, layout_of, on_one, shared_by_all
from branded.core.tracing.closure_conversion import closure_converted
from branded.core.tracing.predication import predicate
from branded.core.tracing.step import Args, Carry, Input, Step, like, pairs, param, split_arguments, wider
from branded.dispatch import Pass, full
from branded.errors import UnsupportedError
from branded.graph.primitive import (
    Batched,
    BatchingRun,
    OnOneDevice,
    Primitive,
    info,
    params,
    primitive_of,
    results,
    slots,
)
from branded.graph.rows import left_brands, row_of
from branded.graph.scope import Row, open_brands, union
from branded.graph.uops import on_device, replace_ops
from branded.tinygrad_compat.private_api import broadcast_to, reduce_axes

T = TypeVar("T")


class _StepPass(Pass, OnOneDevice):
    """A batching pass over the step of a loop, which runs on one device."""


class Loop(Primitive):
    """A loop with its step, a TUPLE of UOps over the parameters 0, 1, …: carries, inputs, constants."""

    api_name, name = "loop", ""
    is_local = True
    made: ClassVar[weakref.WeakValueDictionary[str, Loop]] = weakref.WeakValueDictionary()
    """All live loops by name: loops with equal names and rules are one object."""
    counts: frozenset[int]
    """The slots of the inputs that hold the step index, which no kernel has to read."""

    length: int | None
    """The number of steps; None for a `while` loop, whose step computes the condition."""

    def __init__(
        self,
        step: UOp,
        carries: int,
        inputs: int,
        counts: Iterable[int],
        length: int | None,
        reverse: bool,
        gated: bool,
    ) -> None:
        """Create a loop. If `gated`, it has one more argument: a flag that disables all steps if it is false."""
        self.step, self.carries, self.inputs, self.gated = step, carries, inputs, gated
        self.counts, self.length, self.reverse = frozenset(counts), length, reverse
        self.compiled: Any = None
        self.device = next(p.device for p in self.params() if p.device is not None)
        self._uses: dict[int, set[int]] = {}

    @property
    def content(self) -> str:
        return self.name

    def params(self) -> list[UOp]:
        return params(self.step)

    @property
    def form(self) -> str:
        """The key of the compiled code around the step, for any number of steps."""
        return f"{self.api_name}.{self.carries}.{self.inputs}.{sorted(self.counts)}.{self.gated}"

    def whole_results(self) -> list[UOp]:
        """Return a body for tinygrad, which needs only the types of the results: the first step, expanded."""
        n, whole = self.carries, dict[UOp, UOp]()
        if self.length is None:
            return list(self.step.src[:n])
        for p in self.params():
            if self.is_input(i := p.arg.slot):
                q = UOp.param(i, p.dtype, (self.length, *p.shape), p.device)
                whole[p] = q.shrink(((0, 1), *((0, s) for s in p.shape))).reshape(p.shape)
        first = replace_ops(self.step.src, whole.get)
        return [*first[:n], *(y.expand((self.length, *y.shape)) for y in first[n:])]

    def is_input(self, slot: int) -> bool:
        return self.carries <= slot < self.carries + self.inputs

    def on_other_device(self, moved: Callable[[UOp], UOp]) -> Loop:
        new = copy.copy(self)
        new.step, new.compiled = moved(self.step), None
        new.device = next(p.device for p in new.params() if p.device is not None)
        return new

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"compiled": None}  # another process recompiles it

    def dtypes(self, u: UOp) -> list[DType]:
        """Return the dtype that the step expects for each argument."""
        expected = {p.arg.slot: p.dtype for p in self.params()} | {
            i: self.step.src[i].dtype for i in range(self.carries)
        }
        return [expected.get(i, strong_dtype(x.dtype)) for i, x in enumerate(u.src[1:])]

    def uses(self, u: UOp, i: int) -> set[int]:
        if i not in self._uses:
            direct = [slots(out) for out in self.step.src]
            used, todo = set[int](), [i, *self.always()]
            done = set[int]()
            while todo:
                if (k := todo.pop()) in done:
                    continue
                done.add(k)
                used |= direct[k]
                todo += [s for s in direct[k] if s < self.carries]
            gate = {len(u.src) - 2} if self.gated else set()
            self._uses[i] = used | ({i} if i < self.carries else set()) | gate
        return self._uses[i]

    def always(self) -> list[int]:
        """Return the indices of the step's results on which every result of the loop depends."""
        return []

    def predicated(self, u: UOp, flag: UOp, effects: bool) -> UOp | None:
        """Predicate the step, so that it is safe where the flag is false."""
        step = self.step_of(u)
        old = [*step.nexts, *step.outs]
        new = predicate(old, flag, effects=effects)
        args = self.cut(u.src[1:])
        if effects and self.always():  # otherwise an example that is already done would still run its steps
            args = args._replace(gate=[functools.reduce(lambda a, b: a & b, args.gate, flag)])
        elif all(a is b for a, b in pairs(old, new)):
            return None
        n = self.carries
        out: UOp = UOp.maketuple(*self.with_step(step._replace(nexts=new[:n], outs=new[n:]), args))
        return out

    @staticmethod
    def gate(args: Args[Batched]) -> UOp | None:
        """Return the loop's flag for the whole batch: true if any example takes the branch."""
        return next(
            (reduce_axes(x.uop, Ops.MAX, tuple(range(len(x.row)))) if x.row else x.uop for x in args.gate), None
        )

    def with_step(self, step: Step, args: Args[UOp]) -> list[UOp]:
        """Return the results of the loop with another step."""
        raise NotImplementedError

    def cut(self, xs: Sequence[T]) -> Args[T]:
        """Split a sequence with one entry for each argument into carries, inputs, constants and gate."""
        return split_arguments(xs, self.carries, self.inputs, self.gated)

    def step_of(self, u: UOp) -> Step:
        """Return the step of a call over new parameters."""
        n, m = self.carries, self.inputs
        old = {p.arg.slot: p for p in self.params()}
        new = [like(old[i]) if i in old else like(x, n <= i < n + m) for i, x in enumerate(u.src[1:])]
        outs = replace_ops(self.step.src, {p: new[i] for i, p in old.items()}.get)
        return Step(self.cut(new), outs[:n], outs[n:])

    def for_all(self, step: Step, args: Args[Batched], run: BatchingRun) -> ForAll:
        """Batch the step.

        A carry gets every brand that it varies over after some step, found by a fixed-point iteration.

        total, x = 0.0, xs        x varies over `i`
        total = total + x         a carry with brands {}: the result has the brand {i}, so the carry grows
        total = total + x         a carry with brands {i}: the result has {i}, so the iteration ends
        """
        run = run if isinstance(run, OnOneDevice) else _StepPass(run.closing)
        rows, inputs = (
            [a.row for a in args.carries],
            [wider(p, a.row) for p, a in pairs(step.params.inputs, args.inputs)],
        )
        unbatched = {p: a.uop for p, a in pairs(step.params.fixed, args.fixed) if not a.row}
        batched = {p: a for p, a in pairs(step.params.fixed, args.fixed) if a.row}
        batched |= {
            p: a._replace(uop=w) for p, a, w in zip(step.params.inputs, args.inputs, inputs, strict=True) if a.row
        }
        while True:
            carries = [wider(p, row) for p, row in pairs(step.params.carries, rows)]
            wide = zip(step.params.carries, carries, rows, strict=True)
            env = batched | {p: Batched(w, row) for p, w, row in wide if row}
            new = run.run([*step.nexts, *step.outs], dict(env), None)
            every: Row = functools.reduce(union, (new[i].row for i in self.always()), ())
            grown = [union(union(row, x.row), every) for row, x in pairs(rows, new[: self.carries])]
            if grown == rows:
                return ForAll(carries, inputs, new[: self.carries], new[self.carries :], rows, unbatched)
            rows = grown


class ForAll(NamedTuple):
    """A batched step: new parameters for everything that varies from step to step, and the results."""

    carries: list[UOp]
    inputs: list[UOp]
    nexts: list[Batched]
    outs: list[Batched]
    rows: list[Row]
    """The brands of each carry."""
    known: dict[UOp, UOp]
    """The values of parameters that are the same for all steps and examples."""

    def batched_carries(self, args: Args[Batched], nexts: Iterable[UOp]) -> list[Carry]:
        every = zip(self.carries, args.carries, self.rows, nexts, strict=True)
        return [Carry(p, full(a, row), x) for p, a, row, x in every]


def _at_home(results: list[UOp], step_params: Sequence[UOp], device: str) -> list[UOp]:
    """Move a step with values on other devices to the loop's device, including the calls in the step."""
    graph = UOp(Ops.SINK, src=tuple(results)).toposort(enter_calls=False)
    varies, fixed, away = set(step_params), dict[UOp, None](), False
    for u in graph:
        if any(s in varies for s in u.src):
            varies.add(u)
            fixed |= dict.fromkeys(s for s in u.src[u.op is Ops.FUNCTION :] if s not in varies)
            away |= u.op is Ops.COPY and u.arg != device
    if not away and all(u.device in {None, device} for u in (*varies, *fixed)):
        return results

    still = {u for u in graph if u not in varies}

    def back(u: UOp) -> UOp | None:
        if u in still:
            return None
        if u.op is Ops.COPY and u.arg != device:
            return u.src[0]
        if u.op is Ops.UNSHARD and len(u.arg) == 1:
            return shared_by_all(u)
        there = {d: None for p in params(u.src[0]) if (d := p.device) is not None} if u.op is Ops.FUNCTION else {}
        for d in there:
            u = u if d == device else call_on(device, d, u)
        return u

    copies = {s: on_one(s, device) for s in fixed if s.device not in {None, device}}
    return replace_ops(results, back, at=copies)


@functools.lru_cache(maxsize=64)
def step_numbers(length: int) -> UOp:
    """Return the index of each step, from 0."""
    out: UOp = UOp.arange(length)
    return out


def is_count(x: UOp) -> bool:
    """Return whether this is the step index, which needs no memory."""
    return x.op is Ops.ADD and x.device is None and x.dtype == dtypes.int32 and x is step_numbers(x.shape[0])


def call_loop(
    kind: type[Loop],
    carries: Sequence[Carry],
    inputs: Sequence[Input],
    outs: Sequence[UOp],
    gate: UOp | None = None,
    length: int | None = None,
    reverse: bool = False,
) -> list[UOp]:
    """Call a loop with this step, and return its last carries and its stacked `outs`.

    The loop runs on one device; its results have the device layouts of the initial carries and of `outs`.
    """
    places = [*(layout_of(c.init) for c in carries), *(layout_of(x, 1) for x in outs)]
    step, args = _assemble_step(carries, inputs, outs, gate)
    counts = [len(carries) + i for i, x in enumerate(inputs) if is_count(x.whole)]
    loop = _known_loop(kind(step, len(carries), len(inputs), counts, length, reverse, gate is not None))
    call = UOp(Ops.FUNCTION, dtypes.void, (UOp.maketuple(*loop.whole_results()), *args), info(loop.api_name, loop))
    return list(map(laid_out_as, _results_of(loop, call), places))


def _assemble_step(
    carries: Sequence[Carry], inputs: Sequence[Input], outs: Sequence[UOp], gate: UOp | None
) -> tuple[UOp, list[UOp]]:
    """Build the step over numbered parameters, and return it with the arguments of the loop."""
    device = home_of_values([c.param for c in carries] + [x.param for x in inputs])
    inits = [on_device(on_one(c.init, device), device) for c in carries]
    wholes = [x.whole if is_count(x.whole) else on_device(on_one(x.whole, device), device) for x in inputs]
    results = [on_device(x, device) for x in (*(c.next.cast(c.param.dtype) for c in carries), *outs)]
    old_params = [*(c.param for c in carries), *(x.param for x in inputs)]
    new_params = [p if p.device in {None, device} else param(p.shape, p.dtype, device) for p in old_params]
    param_of = {old: new for old, new in pairs(old_params, new_params) if old is not new}
    results = _at_home(replace_ops(results, param_of.get) if param_of else results, new_params, device)
    step, fixed = closure_converted(results, new_params, device)
    if any(isinstance(x.device, tuple) for x in (*fixed, *step.src)):
        raise UnsupportedError(
            "loop: a value in the body is sharded, and the body runs on one device",
            fix="move the loop into vmap(..., devices=...), or gather the value with .to() first",
        )
    flags = [] if gate is None else [on_device(on_one(gate, device), device)]
    return step, [*inits, *wholes, *fixed, *flags]


def _known_loop(loop: Loop) -> Loop:
    """Return an equal loop that already exists, or register `loop`.

    The name identifies the computation. A loop that will still be batched is not registered.
    """
    numbers = loop.carries, loop.inputs, loop.length, "down" if loop.reverse else "up", *sorted(loop.counts)
    name = ".".join(map(str, ("branded", loop.api_name, loop.step.key.hex(), *numbers)))
    loop.name = name = name + ".gated" * loop.gated
    if left_brands(loop.step.src):
        return loop
    inside = [p for u in loop.step.toposort() if (p := primitive_of(u)) is not None]
    return Loop.made.setdefault(name + "".join(f".{id(p)}" for p in inside), loop)


def _results_of(loop: Loop, call: UOp) -> list[UOp]:
    """Return the results of a loop; if examples exchange values in its step, run one loop over all examples."""
    exchanged = left_brands(loop.step.src)
    if not (crossed := [b for b in open_brands() if b in exchanged]):
        return results(call)
    args = []
    for x in call.src[1:]:
        row = tuple(b for b in crossed if b in row_of(x))
        for b in reversed(row):
            x = stage(x, b)
        args.append(Batched(x, row))
    out = loop.batch(call, Pass(exchanged), args)
    return [enter_all(x, row) for x, row in zip(out.uop.src, out.rows, strict=True)]


def moved_carries(
    step: Step, args: Args[UOp], tangents: Args[UOp | None], tangent_of: Mapping[UOp, UOp]
) -> tuple[list[Carry | None], list[UOp | None]]:
    """Return for each carry the carry of its tangent, or None, and the tangents of the other outputs of the step."""
    tangent_of = {**tangent_of, **{x: d for x, d in pairs(step.params.fixed, tangents.fixed) if d is not None}}
    moving = {c: like(c) for c, d in pairs(step.params.carries, tangents.carries) if d is not None}
    n = len(step.nexts)
    while True:
        ds = push_forward([*step.nexts, *step.outs], {**tangent_of, **moving})
        more = {c: like(c) for c, d in pairs(step.params.carries, ds[:n]) if d is not None and c not in moving}
        if not more:
            break
        moving |= more
    every = zip(step.params.carries, args.carries, tangents.carries, step.nexts, ds[:n], strict=True)
    carries = [Carry(moving[c], or_zero(t, x), or_zero(d, y)) if c in moving else None for c, x, t, y, d in every]
    return carries, ds[n:]


def with_tangents(
    values: Sequence[UOp], moved: Sequence[object], tangents: Sequence[UOp]
) -> tuple[UOp, list[int | None]]:
    """Return values and tangents as one tuple, and for each value the index of its tangent, or None."""
    where = itertools.count(len(values))
    return UOp.maketuple(*values, *tangents), [None if x is None else next(where) for x in moved]


def or_zero(d: UOp | None, x: UOp) -> UOp:
    return zero(x) if d is None else d if d.shape == x.shape else broadcast_to(d, x.shape)
