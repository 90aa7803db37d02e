"""Loops as primitives: a step that is traced once, and its rules for batching and for derivatives.

The step is a graph of parameters: the carries, the slices of the inputs, and the constants.  A loop is a FUNCTION of
the initial carries, the inputs and the constants, whose results are the last carries and the stacked outputs.  What
does not change from step to step is a constant: it is computed once, before the loop.  A transform of a loop is a loop
again, so transforms compose.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Mapping, Sequence, Set
from typing import Any, ClassVar, NamedTuple

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


class Carry(NamedTuple):
    """A value that each step gives to the next: as a parameter of the step, at first, and what the step makes of it."""

    param: UOp
    init: UOp
    next: UOp


class Input(NamedTuple):
    """A value of which each step gets a slice: as a parameter of the step, and whole, with the steps in front."""

    param: UOp
    whole: UOp


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

    def opened(self, u: UOp) -> _Opened:
        """The step of a call with parameters that no other graph has."""
        n, m = self.carries, self.inputs
        old = {p.arg.slot: p for p in self.params()}
        new = [like(old[i]) if i in old else like(x, n <= i < n + m) for i, x in enumerate(u.src[1:])]
        outs = replaced(self.step.src, {p: new[i] for i, p in old.items()}.get)
        return _Opened(new[:n], new[n : n + m], new[n + m :], outs)


class _Opened(NamedTuple):
    """A step: the parameters of its carries, of its inputs and of what no step changes, and its results."""

    carries: list[UOp]
    inputs: list[UOp]
    fixed: list[UOp]
    outs: list[UOp]


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
        n, m = self.carries, self.inputs
        carries, inputs, fixed, outs = self.opened(u)
        rows = [a.row for a in args]
        own = [*carries, *inputs]
        given = {p: a for p, a in zip(fixed, args[n + m :], strict=True) if a.row}
        known = {p: a.uop for p, a in zip(fixed, args[n + m :], strict=True) if not a.row}
        while True:
            wide = [_wider(p, row) for p, row in zip(own, rows, strict=False)]
            env = given | {p: Batched(w, row) for p, w, row in zip(own, wide, rows, strict=False) if row}
            new = run.run(outs, dict(env), None)
            grown = [union(row, x.row) for row, x in zip(rows[:n], new, strict=False)]
            if grown == rows[:n]:
                break
            rows[:n] = grown
        finals, ys = scan(
            [Carry(w, full(a, row), full(x, row)) for w, a, row, x in zip(wide[:n], args, rows, new[:n], strict=False)],
            [Input(w, _steps_first(a)) for w, a in zip(wide[n:], args[n:], strict=False)],
            [x.uop for x in new[n:]],
            self.length,
            self.reverse,
            known,
        )
        out_rows = (*rows[:n], *(x.row for x in new[n:]))
        stacked = [_brands_first(y, x.row) for y, x in zip(ys, new[n:], strict=True)]
        return Bundle(UOp.maketuple(*finals, *stacked), out_rows)

    def push(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        """The tangent of a scan is a scan of values and tangents."""
        n, m = self.carries, self.inputs
        args = u.src[1:]
        carries, inputs, fixed, outs = self.opened(u)
        given = {x: d for x, d in zip(fixed, tangents[n + m :], strict=True) if d is not None}
        dx = {x: like(x) for x, d in zip(inputs, tangents[n:], strict=False) if d is not None}
        ds, dc = _around(outs, carries, tangents, {**given, **dx})
        moving = [i for i, c in enumerate(carries) if c in dc]
        finals, ys = scan(
            [
                *(Carry(c, x, out) for c, x, out in zip(carries, args, outs, strict=False)),
                *(Carry(dc[carries[i]], _or_zero(tangents[i], args[i]), _or_zero(ds[i], outs[i])) for i in moving),
            ],
            [
                *map(Input, inputs, args[n:]),
                *(Input(dx[x], d) for x, d in zip(inputs, tangents[n:], strict=False) if d is not None),
            ],
            [*outs[n:], *(d for d in ds[n:] if d is not None)],
            self.length,
            self.reverse,
            dict(zip(fixed, args[n + m :], strict=True)),
        )
        results, where = [*finals[:n], *ys[: len(outs) - n]], list[int | None](itertools.repeat(None, len(outs)))
        for i, d in (
            *zip(moving, finals[n:], strict=True),
            *zip([i for i in range(n, len(outs)) if ds[i] is not None], ys[len(outs) - n :], strict=True),
        ):
            where[i] = len(results)
            results.append(d)
        return UOp.maketuple(*results), where

    def pull(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        """The transpose of a scan is a scan from its end to its beginning, over the carries that each step had."""
        n, m = self.carries, self.inputs
        args = u.src[1:]
        carries, inputs, fixed, outs = self.opened(u)
        known = dict(zip(fixed, args[n + m :], strict=True))
        active = [i for i in range(n) if is_float(args[i]) and (self.uses(u, i) & needed or i in needed)]
        over = [i for i in range(m) if n + i in needed and is_float(args[n + i])]
        shared = [i for i in sorted(needed) if i >= n + m and is_float(args[i])]
        dys = [(i, ct) for i, ct in enumerate(cotangents) if i >= n and ct is not None and is_float(outs[i])]

        ct_next = {i: like(carries[i]) for i in active}
        ct_y = {
            i: like(outs[i]) if outs[i].device is not None else param(outs[i].shape, outs[i].dtype, self.device)
            for i, _ in dys
        }
        roots = [outs[i] for i in (*active, *(i for i, _ in dys))]
        targets = [*(carries[i] for i in active), *(inputs[i] for i in over), *(fixed[i - n - m] for i in shared)]
        grads, _ = gradients(roots, [*ct_next.values(), *ct_y.values()], targets)

        before = [c for c in carries if any(c in g.toposort(enter_calls=False) for g in grads)]
        stacked = self._again(u, carries, inputs, outs, before, known) if before else []
        sums = [like(args[i]) for i in shared]
        na, no = len(active), len(over)
        finals, ys = scan(
            [
                *(Carry(ct_next[i], _or_zero(cotangents[i], args[i]), g) for i, g in zip(active, grads, strict=False)),
                *(Carry(s, zero(args[i]), s + g) for s, i, g in zip(sums, shared, grads[na + no :], strict=True)),
            ],
            [
                *map(Input, before, stacked),
                *map(Input, inputs, args[n:]),
                *(Input(ct_y[i], ct) for i, ct in dys),
            ],
            grads[na : na + no],
            self.length,
            not self.reverse,
            known,
        )
        result: list[UOp | None] = [None] * len(args)
        for i, ct in zip(active, finals, strict=False):
            result[i] = ct
        for i, ct in zip(over, ys, strict=True):
            result[n + i] = ct
        for i, ct in zip(shared, finals[na:], strict=True):
            result[i] = ct
        return result

    def _again(
        self,
        u: UOp,
        carries: list[UOp],
        inputs: list[UOp],
        outs: list[UOp],
        stack: list[UOp],
        known: dict[UOp, UOp],
    ) -> list[UOp]:
        """What these carries were before each step, from the loop itself run again."""
        n, args = self.carries, u.src[1:]
        finals, ys = scan(
            list(map(Carry, carries, args, outs)),
            list(map(Input, inputs, args[n:])),
            [*outs[n:], *stack],
            self.length,
            self.reverse,
            known,
        )
        kept = len(outs) - n
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
    moving = [c._replace(next=x) for c, x in zip(carries, results, strict=False) if c.param not in steady]
    some = [x for x in inputs if 0 not in x.param.shape]
    ys = [y.cast(strong_dtype(y.dtype)) for y in results[len(carries) :]]
    own = {c.param for c in moving} | {x.param for x in some}
    kept = [i for i, y in enumerate(ys) if not own.isdisjoint(y.toposort(enter_calls=False))]
    done = _scan_call(_assembled(moving, some, [ys[i] for i in kept]), length, reverse) if moving or kept else []
    last = {c.param: x for c, x in zip(moving, done, strict=False)}
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


def _wider(p: UOp, row: Row) -> UOp:
    return param((*(b.size for b in row), *p.shape), p.dtype, p.device) if row else p


def _steps_first(x: Batched) -> UOp:
    n = len(x.row)
    return lead(x.uop, (n, *range(n)))


def _brands_first(y: UOp, row: Row) -> UOp:
    n = len(row)
    return lead(y, (*range(1, n + 1), 0))


def _around(
    outs: Sequence[UOp], carries: Sequence[UOp], tangents: Sequence[UOp | None], given: Mapping[UOp, UOp]
) -> tuple[list[UOp | None], dict[UOp, UOp]]:
    """The tangents of what a step gives, and a parameter for that of each carry which has one, if not at first."""
    dc = {c: like(c) for c, d in zip(carries, tangents, strict=False) if d is not None}
    while True:
        ds = push(outs, {**given, **dc})
        more = {c: like(c) for c, d in zip(carries, ds, strict=False) if d is not None and c not in dc}
        if not more:
            return ds, dc
        dc |= more


# ---- while ----


class While(Loop):
    """`while go(carry): carry = step(carry)`.  The last result of the step is `go` of the carry that it gets."""

    what = "while_loop"

    def always(self) -> list[int]:
        return [self.carries]

    def batch(self, u: UOp, run: Run, args: Sequence[Batched]) -> Bundle:
        """Until the last example is done; one that is done keeps its state."""
        n = self.carries
        carries, _, fixed, outs = self.opened(u)
        # a done example computes what it does not keep, and a division by zero stops more than this example
        outs = [*safe(outs[:n], outs[n]), outs[n]]
        rows = [a.row for a in args]
        given = {p: a for p, a in zip(fixed, args[n:], strict=True) if a.row}
        known = {p: a.uop for p, a in zip(fixed, args[n:], strict=True) if not a.row}
        while True:
            wide = [_wider(p, row) for p, row in zip(carries, rows, strict=False)]
            env = given | {p: Batched(w, row) for p, w, row in zip(carries, wide, rows, strict=False) if row}
            new = run.run(outs, dict(env), None)
            go = new[n]
            grown = [union(union(row, x.row), go.row) for row, x in zip(rows[:n], new, strict=False)]
            if grown == rows[:n]:
                break
            rows[:n] = grown
        nexts, flag = [full(x, row) for x, row in zip(new[:n], rows, strict=False)], go.uop
        if go.row:
            nexts = [_aligned(go, row, w.shape).where(x, w) for x, w, row in zip(nexts, wide, rows, strict=False)]
            flag = reduced(flag, Ops.MAX, tuple(range(len(go.row))))
        finals = while_loop(
            [Carry(w, full(a, row), x) for w, a, row, x in zip(wide, args, rows, nexts, strict=False)], flag, known
        )
        return Bundle(UOp.maketuple(*finals), tuple(rows[:n]))

    def push(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        """The tangent of a loop is a loop of values and tangents."""
        n, args = self.carries, u.src[1:]
        carries, _, fixed, outs = self.opened(u)
        given = {x: d for x, d in zip(fixed, tangents[n:], strict=True) if d is not None}
        ds, dc = _around(outs[:n], carries, tangents, given)
        moving = [i for i, c in enumerate(carries) if c in dc]
        finals = while_loop(
            [
                *(Carry(c, x, out) for c, x, out in zip(carries, args, outs, strict=False)),
                *(Carry(dc[carries[i]], _or_zero(tangents[i], args[i]), _or_zero(ds[i], outs[i])) for i in moving),
            ],
            outs[n],
            dict(zip(fixed, args[n:], strict=True)),
        )
        where: list[int | None] = [n + moving.index(i) if i in moving else None for i in range(n)]
        return UOp.maketuple(*finals), where

    def pull(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        raise DerivativeError(
            "while_loop: reverse mode would have to remember every step, and nobody knows how many there are",
            fix="scan, or fori_loop with bounds that are ints; or forward mode (jvp, jacfwd)",
        )


def while_loop(carries: Sequence[Carry], go: UOp, known: Mapping[UOp, UOp] | None = None) -> list[UOp]:
    """A loop in a graph that runs while `go`, of the carries, is true: the last carries."""
    steady = {**(known or {}), **_steady(carries)}
    results = _without_size_zero(carries, [], replaced([*(c.next for c in carries), go], steady.get))
    moving = [c._replace(next=x) for c, x in zip(carries, results, strict=False) if c.param not in steady]
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
