"""Loops as primitives: a step that is traced once, and its rules for batching and for derivatives.

The step is a graph of parameters: the carries, the slices of the inputs, and the constants.  A loop is a FUNCTION of
the initial carries, the inputs and the constants, whose results are the last carries and the stacked outputs.  What
does not change from step to step is a constant: it is computed once, before the loop.  A transform of a loop is a loop
again, so transforms compose.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from tinygrad import dtypes
from tinygrad.dtype import DType, strong_dtype
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.crossing import enter_all, stage
from branded.derivatives.forward import is_float, push, zero
from branded.derivatives.reverse import gradients, ran_again
from branded.dispatch import Pass, full
from branded.errors import DerivativeError, UnsupportedError
from branded.graph import lead, on_device, replaced
from branded.patches.tg import CallInfo, broadcast_to, has_shape, reduced
from branded.primitive import Batched, Bundle, Primitive, Run, at_slot, params, results, slots
from branded.rows import is_differentiated, is_marked, left_brands, row_of
from branded.scope import Row, open_brands, union

S = TypeVar("S")
T = TypeVar("T")


class Carry(NamedTuple):
    """A value that each step gives to the next: as a parameter of the step, at first, and what the step makes of it."""

    param: UOp
    init: UOp
    next: UOp


class Input(NamedTuple):
    """A value of which each step gets a slice: as a parameter of the step, and whole, with the steps in front."""

    param: UOp
    whole: UOp


class Args(NamedTuple, Generic[T]):
    """The arguments of a loop, in their order, or something for each of them."""

    carries: Sequence[T]
    """What each step gives to the next."""
    inputs: Sequence[T]
    """Of which each step gets a slice."""
    fixed: Sequence[T]
    """What no step changes."""


def cut(xs: Sequence[T], carries: int, inputs: int) -> Args[T]:
    return Args(xs[:carries], xs[carries : carries + inputs], xs[carries + inputs :])


class Step(NamedTuple):
    """A step over parameters that no other graph has: what it makes of the carries, and what it gives beside."""

    params: Args[UOp]
    nexts: list[UOp]
    outs: list[UOp]


_slots = itertools.count(1 << 20)


def param(shape: tuple[Any, ...], dtype: DType, device: str | tuple[str, ...] | None) -> UOp:
    """A parameter that no other graph has."""
    out: UOp = UOp.param(next(_slots), dtype, shape, device)
    return out


def like(x: UOp, drop: int = 0) -> UOp:
    return param(x.shape[drop:], x.dtype, x.device)


# ---- the common part ----


class Loop(Primitive):
    """A loop: its step, as a TUPLE of UOps over the parameters 0, 1, …: carries, inputs, constants."""

    what, name = "loop", ""
    made: ClassVar[weakref.WeakValueDictionary[str, Loop]] = weakref.WeakValueDictionary()
    """The loops that a graph has, or that something may run: of equal ones there is one."""

    def __init__(self, step: UOp, carries: int, inputs: int) -> None:
        self.step, self.carries, self.inputs = step, carries, inputs
        self.compiled: Any = None
        self.device = next(p.device for p in self.params() if p.device is not None)
        self._uses: dict[int, set[int]] = {}

    def params(self) -> list[UOp]:
        return params(self.step)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"compiled": None}  # another process compiles it anew

    def dtypes(self, u: UOp) -> list[DType]:
        """What the step takes its arguments for."""
        known = {p.arg.slot: p.dtype for p in self.params()} | {i: self.step.src[i].dtype for i in range(self.carries)}
        return [known.get(i, strong_dtype(x.dtype)) for i, x in enumerate(u.src[1:])]

    def uses(self, u: UOp, i: int) -> set[int]:
        if i not in self._uses:
            direct = [slots(out) for out in self.step.src]
            seen, todo = set[int](), [i, *self.always()]
            done = set[int]()
            while todo:
                if (k := todo.pop()) in done:
                    continue
                done.add(k)
                seen |= direct[k]
                todo += [s for s in direct[k] if s < self.carries]
            self._uses[i] = seen | ({i} if i < self.carries else set())
        return self._uses[i]

    def always(self) -> list[int]:
        """The results of the step on which every result of the loop depends."""
        return []

    def cut(self, xs: Sequence[T]) -> Args[T]:
        """What there is for each argument, by what the arguments are."""
        return cut(xs, self.carries, self.inputs)

    def opened(self, u: UOp) -> Step:
        """The step of a call, over new parameters."""
        n, m = self.carries, self.inputs
        old = {p.arg.slot: p for p in self.params()}
        new = [like(old[i]) if i in old else like(x, n <= i < n + m) for i, x in enumerate(u.src[1:])]
        outs = replaced(self.step.src, {p: new[i] for i, p in old.items()}.get)
        return Step(self.cut(new), outs[:n], outs[n:])

    def for_all(self, step: Step, args: Args[Batched], run: Run) -> _ForAll:
        """The step for all examples.  A carry varies over all that it varies over after some step:

        total, x = 0.0, xs        of which x varies over `i`
        total = total + x         a carry of row {}: what comes of it has the row {i}, which is more
        total = total + x         a carry of row {i}: what comes of it has the row {i}: done
        """
        rows, inputs = (
            [a.row for a in args.carries],
            [_wider(p, a.row) for p, a in _pairs(step.params.inputs, args.inputs)],
        )
        known = {p: a.uop for p, a in _pairs(step.params.fixed, args.fixed) if not a.row}
        given = {p: a for p, a in _pairs(step.params.fixed, args.fixed) if a.row}
        given |= {
            p: a._replace(uop=w) for p, a, w in zip(step.params.inputs, args.inputs, inputs, strict=True) if a.row
        }
        while True:
            carries = [_wider(p, row) for p, row in _pairs(step.params.carries, rows)]
            wide = zip(step.params.carries, carries, rows, strict=True)
            env = given | {p: Batched(w, row) for p, w, row in wide if row}
            new = run.run([*step.nexts, *step.outs], dict(env), None)
            every: Row = functools.reduce(union, (new[i].row for i in self.always()), ())
            grown = [union(union(row, x.row), every) for row, x in _pairs(rows, new[: self.carries])]
            if grown == rows:
                return _ForAll(carries, inputs, new[: self.carries], new[self.carries :], rows, known)
            rows = grown


class _ForAll(NamedTuple):
    """A step for all examples: new parameters of what varies from step to step, and its results."""

    carries: list[UOp]
    inputs: list[UOp]
    nexts: list[Batched]
    outs: list[Batched]
    rows: list[Row]
    """Those of the carries."""
    known: dict[UOp, UOp]
    """The values of parameters that are the same for all steps and examples."""

    def carried(self, args: Args[Batched], nexts: Iterable[UOp]) -> list[Carry]:
        every = zip(self.carries, args.carries, self.rows, nexts, strict=True)
        return [Carry(p, full(a, row), x) for p, a, row, x in every]


def constants(outs: Sequence[UOp], moving: Set[UOp]) -> list[UOp]:
    """What a step uses and no step changes: to be computed before the loop."""
    varies: dict[UOp, bool] = {}
    found: dict[UOp, None] = {}
    for u in UOp(Ops.SINK, src=tuple(outs)).toposort(enter_calls=False):
        varies[u] = u in moving or any(varies.get(s, False) for s in u.src)
        if not varies[u] and u.op is not Ops.SINK:
            continue
        for i, s in enumerate(u.src):
            into = i == 0 and u.op in {Ops.STORE, Ops.AFTER, Ops.FUNCTION}  # what is written to, and a body
            if into or varies.get(s, True) or s.op is Ops.RANGE:
                continue
            while s.op in GroupOp.Movement:
                s = s.src[0]  # a view costs nothing in the step, and its copy would
            if has_shape(s) and (s.device is not None or row_of(s) or is_differentiated(s)):
                found[s] = None
    return list(found)


def closed(outs: Sequence[UOp], own: Sequence[UOp], device: str | None = None) -> tuple[UOp, list[UOp]]:
    """A body over numbered parameters, its own first, and the values from outside that the others stand for."""
    found = constants(outs, set(own))
    empty = {x for x in found if 0 in x.shape}  # nothing is read of them, and no kernel makes them
    found = [x for x in found if x not in empty]
    fixed = [on_device(x.cast(strong_dtype(x.dtype)), device) for x in found]
    all_params = [*own, *map(like, fixed)]
    numbered = [at_slot(p, i) for i, p in enumerate(all_params)]
    stand_ins = {x: p.cast(x.dtype) for x, p in zip([*own, *found], numbered, strict=True)}
    stand_ins |= {x: x.const_like(0) for x in empty}

    def over_params(u: UOp) -> UOp | None:
        # a leaf in here is one of a derivative that the body took: it is done
        return u.src[0] if is_marked(u) else None

    return UOp.maketuple(*replaced(outs, over_params, at=stand_ins)), fixed


class _Parts(NamedTuple):
    """A loop in the making: its step over numbered parameters, and its arguments."""

    step: UOp
    carries: list[Carry]
    inputs: list[Input]
    args: tuple[UOp, ...]


def _assembled(carries: Sequence[Carry], inputs: Sequence[Input], outs: Sequence[UOp]) -> _Parts:
    """The step over numbered parameters; `outs` are what it gives beside the carries."""
    carries = [c._replace(init=on_device(c.init, c.param.device)) for c in carries]
    inputs = [x._replace(whole=on_device(x.whole, x.param.device)) for x in inputs]
    device = next(p.device for p in (*(c.param for c in carries), *(x.param for x in inputs)))
    results = [on_device(x, device) for x in (*(c.next.cast(c.param.dtype) for c in carries), *outs)]
    own = [*(c.param for c in carries), *(x.param for x in inputs)]
    step, fixed = closed(results, own, device)
    if any(isinstance(x.device, tuple) for x in (*fixed, *own)):
        raise UnsupportedError("loop: a sharded tensor cannot go through a loop yet", fix="gather it with .to() first")
    args = (*(c.init for c in carries), *(x.whole for x in inputs), *fixed)
    return _Parts(step, list(carries), list(inputs), args)


def _known(name: str, loop: Any) -> Any:
    """The loop of this name: equal loops are one.  One that is about to be batched is none yet."""
    loop.name = name
    return loop if left_brands(loop.step.src) else Loop.made.setdefault(name, loop)


def _call(loop: Loop, body: Sequence[UOp], args: tuple[UOp, ...]) -> UOp:
    return UOp(Ops.FUNCTION, dtypes.void, (UOp.maketuple(*body), *args), CallInfo(name=loop.what, aux=loop))


def _results(loop: Loop, call: UOp) -> list[UOp]:
    """What a loop gives.  Where examples exchange values in its step, it is one loop of all of them."""
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


def safe(outs: Sequence[UOp], flag: UOp) -> list[UOp]:
    """The same values where `flag` is true, which divide by one elsewhere."""

    def divides(u: UOp) -> UOp | None:
        if u.op not in _DIVISIONS or is_float(u) or u.src[1].op is Ops.CONST:
            return None
        return u.replace(src=(u.src[0], flag.where(u.src[1], u.src[1].const_like(1))))

    return replaced(outs, divides)


_DIVISIONS = {Ops.CDIV, Ops.CMOD, Ops.FLOORDIV, Ops.FLOORMOD}


def _without_size_zero(carries: Sequence[Carry], inputs: Sequence[Input], outs: Sequence[UOp]) -> list[UOp]:
    """The results of the step, in which values without elements, which no kernel computes, are zeros."""
    empty = {p: p.const_like(0) for p in (*(c.param for c in carries), *(x.param for x in inputs)) if 0 in p.shape}
    return [x.const_like(0) if 0 in x.shape else x for x in (replaced(outs, empty.get) if empty else outs)]


def _steady(carries: Sequence[Carry]) -> dict[UOp, UOp]:
    """Carries that no step changes are constants."""
    return {c.param: c.init for c in carries if c.next is c.param or 0 in c.param.shape}


# ---- scan ----


class Scan(Loop):
    """`for x in xs: carry, y = step(carry, x)`, with the `y`s stacked."""

    what = "scan"

    def __init__(self, step: UOp, carries: int, inputs: int, length: int, reverse: bool) -> None:
        super().__init__(step, carries, inputs)
        self.length, self.reverse = length, reverse

    def batch(self, u: UOp, run: Run, args: Sequence[Batched]) -> Bundle:
        """vmap(scan(step))(xs) = scan(vmap(step))(xs): the steps stay in front, the brands come next."""
        given = self.cut(args)
        new = self.for_all(self.opened(u), given, run)
        finals, ys = scan(
            new.carried(given, (full(x, row) for x, row in _pairs(new.nexts, new.rows))),
            [Input(w, _steps_first(a)) for w, a in _pairs(new.inputs, given.inputs)],
            [x.uop for x in new.outs],
            self.length,
            self.reverse,
            new.known,
        )
        stacked = [_brands_first(y, x.row) for y, x in _pairs(ys, new.outs)]
        return Bundle(UOp.maketuple(*finals, *stacked), (*new.rows, *(x.row for x in new.outs)))

    def push(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        """The tangent of a scan is a scan of values and tangents."""
        step, args, ts = self.opened(u), self.cut(u.src[1:]), self.cut(tangents)
        moved = [(x, like(x), d) for x, d in _pairs(step.params.inputs, ts.inputs) if d is not None]
        dcarries, dys = _moved(step, args, ts, {x: dx for x, dx, _ in moved})
        finals, ys = scan(
            [*map(Carry, step.params.carries, args.carries, step.nexts), *(c for c in dcarries if c is not None)],
            [*map(Input, step.params.inputs, args.inputs), *(Input(dx, d) for _, dx, d in moved)],
            [*step.outs, *(d for d in dys if d is not None)],
            self.length,
            self.reverse,
            dict(_pairs(step.params.fixed, args.fixed)),
        )
        n, k = self.carries, len(step.outs)
        return _beside([*finals[:n], *ys[:k]], [*dcarries, *dys], [*finals[n:], *ys[k:]])

    def pull(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        """The transpose of a scan is a scan from its end to its beginning, over the carries that each step had.

        Of `c, y = c * x, c`, in three steps:

            the loop         c0 -> c1 -> c2 -> c3
            its residuals    c0, c1, c2: the loop again, which stacks the carry before each step
            its transpose    ct(c3) -> ct(c2) -> ct(c1) -> ct(c0), by ct(c) = ct(c') * x + ct(y) and ct(x) = ct(c') * c

        What no step changes has the sum of its cotangents of all steps, which is one more carry.
        """
        step, args, n, m = self.opened(u), self.cut(u.src[1:]), self.carries, self.inputs
        known = dict(_pairs(step.params.fixed, args.fixed))
        # by their places among the carries, the inputs and the fixed: which have a cotangent
        wanted = Args(
            [i for i, x in enumerate(args.carries) if is_float(x) and (self.uses(u, i) & needed or i in needed)],
            [i for i, x in enumerate(args.inputs) if is_float(x) and n + i in needed],
            [i for i, x in enumerate(args.fixed) if is_float(x) and n + m + i in needed],
        )
        cts = {i: ct for i, ct in enumerate(cotangents[n:]) if ct is not None and is_float(step.outs[i])}
        ct_next = [like(step.params.carries[i]) for i in wanted.carries]
        ct_ys = [param((y := step.outs[i]).shape, y.dtype, y.device or self.device) for i in cts]
        roots = [*(step.nexts[i] for i in wanted.carries), *(step.outs[i] for i in cts)]
        targets = [x[i] for x, places in _pairs(step.params, wanted) for i in places]
        found, _ = gradients(roots, [*ct_next, *ct_ys], targets)
        grads = cut(found, len(wanted.carries), len(wanted.inputs))

        before = [c for c in step.params.carries if any(c in g.toposort(enter_calls=False) for g in found)]
        residuals = self._residuals(u, step, args, before, known) if before else []
        firsts = [_or_zero(cotangents[i], args.carries[i]) for i in wanted.carries]
        sums = [(like(args.fixed[i]), zero(args.fixed[i])) for i in wanted.fixed]
        finals, ys = scan(
            [
                *map(Carry, ct_next, firsts, grads.carries),
                *(Carry(total, first, total + g) for (total, first), g in _pairs(sums, grads.fixed)),
            ],
            [
                *map(Input, before, residuals),
                *map(Input, step.params.inputs, args.inputs),
                *map(Input, ct_ys, cts.values()),
            ],
            grads.inputs,
            self.length,
            not self.reverse,
            known,
        )
        places = [*wanted.carries, *(n + m + i for i in wanted.fixed), *(n + i for i in wanted.inputs)]
        of = dict(_pairs(places, [*finals, *ys]))
        return [of.get(i) for i in range(len(u.src) - 1)]

    def _residuals(
        self, u: UOp, step: Step, args: Args[UOp], carries: Sequence[UOp], known: dict[UOp, UOp]
    ) -> list[UOp]:
        """What these carries were before each step, from the loop itself run again."""
        finals, ys = scan(
            list(map(Carry, step.params.carries, args.carries, step.nexts)),
            list(map(Input, step.params.inputs, args.inputs)),
            [*step.outs, *carries],
            self.length,
            self.reverse,
            known,
        )
        kept = len(step.outs)
        ran_again(u, [*finals, *ys[:kept]])
        return ys[kept:]


def scan(
    carries: Sequence[Carry],
    inputs: Sequence[Input],
    outs: Sequence[UOp],
    length: int,
    reverse: bool,
    known: Mapping[UOp, UOp] | None = None,
) -> tuple[list[UOp], list[UOp]]:
    """A loop of `length` steps in a graph: the last carries, and the stacked `outs`.

    `known` are the values of parameters that no step changes.
    """
    if not length:
        return [c.init for c in carries], [_zeros((0, *y.shape), y) for y in outs]
    steady = {**(known or {}), **_steady(carries)}
    results = _without_size_zero(carries, inputs, replaced([*(c.next for c in carries), *outs], steady.get))
    nexts, ys = results[: len(carries)], [y.cast(strong_dtype(y.dtype)) for y in results[len(carries) :]]
    moving = [c._replace(next=x) for c, x in _pairs(carries, nexts) if c.param not in steady]
    some = [x for x in inputs if 0 not in x.param.shape]
    own = {c.param for c in moving} | {x.param for x in some}
    kept = [i for i, y in enumerate(ys) if not own.isdisjoint(y.toposort(enter_calls=False))]
    done = _scan_call(_assembled(moving, some, [ys[i] for i in kept]), length, reverse) if moving or kept else []
    last = {c.param: x for c, x in _pairs(moving, done[: len(moving)])}
    stacked = dict(zip(kept, done[len(moving) :], strict=True))
    return (
        [last.get(c.param, c.init) for c in carries],
        [stacked[i] if i in stacked else y.expand((length, *y.shape)) for i, y in enumerate(ys)],
    )


def _scan_call(parts: _Parts, length: int, reverse: bool) -> list[UOp]:
    n, m = len(parts.carries), len(parts.inputs)
    name = f"branded.scan.{parts.step.key.hex()}.{n}.{m}.{length}.{'down' if reverse else 'up'}"
    loop = _known(name, Scan(parts.step, n, m, length, reverse))
    # for tinygrad: the first step, with the shapes of the whole
    whole = {}
    for p in loop.params():
        if n <= (i := p.arg.slot) < n + m:
            q = UOp.param(i, p.dtype, (length, *p.shape), p.device)
            whole[p] = q.shrink(((0, 1), *((0, s) for s in p.shape))).reshape(p.shape)
    first = replaced(loop.step.src, whole.get)
    body = [*first[:n], *(y.expand((length, *y.shape)) for y in first[n:])]
    return _results(loop, _call(loop, body, parts.args))


def _zeros(shape: tuple[Any, ...], like: UOp) -> UOp:
    out: UOp = UOp.const(0, strong_dtype(like.dtype)).reshape((1,) * len(shape)).expand(shape)
    return out


def _or_zero(d: UOp | None, x: UOp) -> UOp:
    return zero(x) if d is None else d if d.shape == x.shape else broadcast_to(d, x.shape)


def _pairs(xs: Iterable[T], ys: Iterable[S]) -> Iterator[tuple[T, S]]:
    return zip(xs, ys, strict=True)


def _wider(p: UOp, row: Row) -> UOp:
    return param((*(b.size for b in row), *p.shape), p.dtype, p.device) if row else p


def _steps_first(x: Batched) -> UOp:
    n = len(x.row)
    return lead(x.uop, (n, *range(n)))


def _brands_first(y: UOp, row: Row) -> UOp:
    n = len(row)
    return lead(y, (*range(1, n + 1), 0))


def _moved(
    step: Step, args: Args[UOp], tangents: Args[UOp | None], given: Mapping[UOp, UOp]
) -> tuple[list[Carry | None], list[UOp | None]]:
    """For each carry the carry of its tangent, if it has one, and the tangents of what else a step gives."""
    given = {**given, **{x: d for x, d in _pairs(step.params.fixed, tangents.fixed) if d is not None}}
    own = {c: like(c) for c, d in _pairs(step.params.carries, tangents.carries) if d is not None}
    n = len(step.nexts)
    while True:
        ds = push([*step.nexts, *step.outs], {**given, **own})
        more = {c: like(c) for c, d in _pairs(step.params.carries, ds[:n]) if d is not None and c not in own}
        if not more:
            break
        own |= more
    every = zip(step.params.carries, args.carries, tangents.carries, step.nexts, ds[:n], strict=True)
    carries = [Carry(own[c], _or_zero(t, x), _or_zero(d, y)) if c in own else None for c, x, t, y, d in every]
    return carries, ds[n:]


def _beside(values: Sequence[UOp], moved: Sequence[object], tangents: Sequence[UOp]) -> tuple[UOp, list[int | None]]:
    """Values, the tangents of those that have `moved`, and where among all of them the tangent of each one is."""
    where = itertools.count(len(values))
    return UOp.maketuple(*values, *tangents), [None if x is None else next(where) for x in moved]


# ---- while ----


class While(Loop):
    """`while go(carry): carry = step(carry)`.  The last result of the step is `go` of the carry that it gets."""

    what = "while_loop"

    def always(self) -> list[int]:
        return [self.carries]

    def batch(self, u: UOp, run: Run, args: Sequence[Batched]) -> Bundle:
        """Until the last example is done; one that is done keeps its state.

        Of `while c < 10: c = 2 * c`, for c = 3 and 9:

            go     (True, True)    (True, False)    (False, False): the end
            c      (3, 9)          (6, 18)          (12, 18): the second is done, and is not doubled
        """
        step, given = self.opened(u), self.cut(args)
        # a done example computes what it does not keep, and a division by zero stops more than this example
        new = self.for_all(step._replace(nexts=safe(step.nexts, step.outs[0])), given, run)
        nexts, (go,) = [full(x, row) for x, row in _pairs(new.nexts, new.rows)], new.outs
        flag = go.uop
        if go.row:
            kept = zip(nexts, new.carries, new.rows, strict=True)
            nexts = [_aligned(go, row, w.shape).where(x, w) for x, w, row in kept]
            flag = reduced(flag, Ops.MAX, tuple(range(len(go.row))))
        finals = while_loop(new.carried(given, nexts), flag, new.known)
        return Bundle(UOp.maketuple(*finals), tuple(new.rows))

    def push(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        """The tangent of a loop is a loop of values and tangents."""
        step, args, n = self.opened(u), self.cut(u.src[1:]), self.carries
        dcarries, _ = _moved(step._replace(outs=[]), args, self.cut(tangents), {})
        finals = while_loop(
            [*map(Carry, step.params.carries, args.carries, step.nexts), *(c for c in dcarries if c is not None)],
            step.outs[0],
            dict(_pairs(step.params.fixed, args.fixed)),
        )
        return _beside(finals[:n], dcarries, finals[n:])

    def pull(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        raise DerivativeError(
            "while_loop: reverse mode would have to remember every step, and nobody knows how many there are",
            fix="scan, or fori_loop with bounds that are ints; or forward mode (jvp, jacfwd)",
        )


def while_loop(carries: Sequence[Carry], go: UOp, known: Mapping[UOp, UOp] | None = None) -> list[UOp]:
    """A loop in a graph that runs while `go`, of the carries, is true: the last carries."""
    steady = {**(known or {}), **_steady(carries)}
    results = _without_size_zero(carries, [], replaced([*(c.next for c in carries), go], steady.get))
    moving = [c._replace(next=x) for c, x in _pairs(carries, results[:-1]) if c.param not in steady]
    if not moving:
        return [c.init for c in carries]
    parts = _assembled(moving, [], [results[-1].cast(dtypes.bool)])
    n = len(moving)
    loop = _known(f"branded.while.{parts.step.key.hex()}.{n}", While(parts.step, n, 0))
    last = dict(zip((c.param for c in moving), _results(loop, _call(loop, loop.step.src[:n], parts.args)), strict=True))
    return [last.get(c.param, c.init) for c in carries]


def _aligned(go: Batched, row: Row, shape: tuple[Any, ...]) -> UOp:
    """A flag for each example, ready to choose between values of this row and shape."""
    own = tuple(b.size if b in go.row else 1 for b in row)
    return go.uop.reshape(own + (1,) * (len(shape) - len(row)))
