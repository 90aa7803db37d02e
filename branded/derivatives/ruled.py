"""Calls whose derivative the user gives, as primitives: what custom_jvp and custom_vjp put into a graph."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import strong_dtype
from tinygrad.uop.ops import Ops, UOp

from branded import tree
from branded.crossing import live_tensor
from branded.derivatives.apart import Apart, row_by, transposed
from branded.derivatives.leaves import Level, pull, transforming
from branded.derivatives.reverse import ran_again
from branded.errors import DerivativeError, OptionError
from branded.graph import tensor
from branded.loops.bodies import Rule, is_through_a_body, only_if, only_looked_at
from branded.loops.primitive import safe, safe_body
from branded.patches.tg import CallInfo
from branded.primitive import Batched, Bundle, Run, primitive_of
from branded.rows import is_touched, is_zero, no_change, row_of
from branded.rules.function import Examples, batch_body
from branded.scope import Row, union
from branded.tree.given import called, check_takes
from branded.values import vec_type

_Backward = tuple[list["UOp | None"], "list[UOp] | None"]


class RuledCall(Apart):
    """A call of a function with a derivative of its own: which leaves of its arguments are tensors, and the trees.

    On a batch it is the same call, whose rule is that of one example.
    """

    is_rule = True
    exchanges = False
    """Is an example told from others in the body, as by `axis_index`, so that the same may give each something else?"""

    flag: int | None = None
    """The argument that says which examples are in the branch in which this is."""

    def __init__(self, f: Any, args: tuple[Any, ...], tensors: int, out: Any, examples: Examples) -> None:
        self.f, self.args, self.tensors, self.out, self.examples = f, args, tensors, out, examples

    def arguments(self, xs: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments of the function with other tensors."""
        new = iter(xs)
        return tuple(
            a if i in self.f.static else tree.rebuild(a, iter([next(new) for _ in tree.leaves(a)]))
            for i, a in enumerate(self.args)
        )

    def split(self, args: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The arguments that are not differentiated, and those that are."""
        return tuple(a for i, a in enumerate(args) if i in self.f.static), tuple(
            a for i, a in enumerate(args) if i not in self.f.static
        )

    def check_closure(self, differentiated: Iterable[int]) -> None:
        """The rule speaks of the arguments alone."""
        if any(i >= self.tensors for i in differentiated):
            raise DerivativeError(
                f"{self.f.what}: {self.f.name} closes over a value that is differentiated, and its rule does not",
                fix="pass it as an argument, or stop_gradient of it",
            )

    def batch(self, u: UOp, run: Run, args: Sequence[Batched]) -> Bundle:
        """The batched function; what its results vary over is what they do by themselves."""
        out, call = batch_body(u, run, args), copy(self)
        call.examples = self.examples.over([a.row for a in args], out.rows)
        call.exchanges = self.exchanges or is_touched(u.src[0])
        return out._replace(uop=out.uop.replace(arg=CallInfo(name=u.arg.name, aux=call)))

    def only_if(self, u: UOp, flag: UOp, effects: bool) -> UOp:
        """The function and its rule call and divide for these examples, and do what they must for them."""
        if (i := self.flag) is not None:
            known = u.src[1 + i]
            both = known & flag.reshape((*flag.shape, *(1,) * (len(known.shape) - len(flag.shape))))
            return u.replace(src=(*u.src[: 1 + i], both, *u.src[2 + i :]))
        call = copy(self)
        call.flag = len(u.src) - 1
        call.examples = Examples([*self.examples.rows, ()], self.examples.results, self.examples.scope)
        new = safe_body(u, flag, effects)
        new = u.replace(src=(*u.src, flag)) if new is None else new
        return new.replace(arg=CallInfo(name=u.arg.name, aux=call))

    def _in_branch(self, xs: Sequence[UOp]) -> AbstractContextManager[object]:
        return nullcontext() if self.flag is None else only_if(xs[self.flag])

    def _safe(self, us: Sequence[UOp | None], xs: Sequence[UOp], given: Sequence[UOp | None]) -> list[UOp | None]:
        """What a rule gives, safe where the examples are in another branch; what was given to it is as it is."""
        if self.flag is None:
            return list(us)
        done = [x for x in (*xs, *given) if x is not None]
        new = iter(safe([u for u in us if u is not None], xs[self.flag], done=done))
        return [None if u is None else next(new) for u in us]

    def same_with(self, u: UOp, i: int, axis: int) -> list[tuple[int, int]] | None:
        """What is the same for all examples of a brand gives what is, but for what they exchange in the body."""
        if self.exchanges or axis >= len(row := self.examples.results[i]):
            return None
        rows = self.examples.rows
        return [(slot, rows[slot].index(row[axis])) for slot in self.uses(u, i) if row[axis] in rows[slot]]

    def speaks_of(self, u: UOp, i: int) -> set[int]:
        """A rule may speak of all arguments, also of those that the function does not use for this result."""
        return self.uses(u, i) | {*range(self.tensors)}

    def means(self, u: UOp, i: int) -> set[int]:
        """Of these, those that do not differ from example to example where the result does not."""
        row, rows = {*self.examples.results[i]}, self.examples.rows
        unused = (slot for slot in range(self.tensors) if row.issuperset(rows[slot]))
        return self.uses(u, i).union(unused)

    def push(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        self.check_closure(i for i, d in enumerate(tangents) if d is not None)
        must = Rule((*u.src[1:], *tangents))
        with must.collected(), self.examples.opened() as closed:
            ts = self.examples.tangents(tangents)
            xs = self.examples.arguments(u.src[1:])
            with self._in_branch(xs):
                ds = [d for d in self._safe(self.forward(xs, ts), xs, ts) if d is not None]
            self.check_rows(u, xs, {i for i, d in enumerate(ds) if not is_zero(d)}, closed)
        given: list[UOp | None] = []
        for i, d in enumerate(ds):
            meant = self.means(u, i)
            self._check_meant(i, d, {slot: t for slot, t in enumerate(ts) if t is not None and slot not in meant})
            moved = any(tangents[slot] is not None for slot in meant)
            given.append(d if moved and dtypes.is_float(d.dtype) and not is_zero(d) else None)
        done = self.examples.of_all(must.before_use(given), closed)
        where = itertools.count()
        return UOp.maketuple(*(d for d in done if d is not None)), [None if d is None else next(where) for d in done]

    def pull(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        """The rule of one example, in the brands of the batch.

        Of `y = f(x, n)` with `x: Vec[S, f32]` and an int `n`, where a cotangent of y is given and both are needed:

            meant {0: {0, 1}}    used {0}, an int has none    grads [g, None]    gives [g of all examples, None]
        """
        meant = {i: self.means(u, i) for i, ct in enumerate(cotangents) if ct is not None}
        floats = {i for i in needed if dtypes.is_float(u.src[1 + i].dtype)}
        used = floats.intersection(itertools.chain.from_iterable(meant.values()))
        self.check_closure(used)
        wanted = used | {i for i in floats if i < self.tensors and meant}  # by the others the rule must give none
        must = Rule((*u.src[1:], *cotangents))
        with must.collected(), self.examples.opened() as closed:
            xs, cts = self.examples.arguments(u.src[1:]), self.examples.cotangents(cotangents)
            with self._in_branch(xs):
                grads, values = self.backward(xs, cts, wanted)
            grads = self._safe(grads, xs, cts)
            if values is not None:
                values = [y for y in self._safe(values, xs, ()) if y is not None]
            self.check_rows(u, xs, {*meant}, closed)
            for i, slot in ((i, slot) for i, own in meant.items() for slot in wanted - own):
                if (g := grads[slot]) is not None and (ct := cts[i]) is not None:
                    self._check_meant(i, g, {slot: ct})
        if values is not None:
            ran_again(u, self._of_all(values, closed))
        given = [g if i in used and g is not None and not is_zero(g) else None for i, g in enumerate(grads)]
        return self.examples.totals([*must.before_use(given), *[None] * (len(xs) - len(given))], closed)

    def _of_all(self, values: Sequence[UOp], closed: Row) -> list[UOp]:
        """The results for all examples, of those of one."""
        return [x for x in self.examples.of_all(values, closed) if x is not None]

    def _check_meant(self, i: int, found: UOp, others: dict[int, UOp]) -> None:
        """Refuse a derivative of a result that all examples share by an argument of which each has its own."""
        if not others or (graph := found.toposort()).keys().isdisjoint(others.values()):
            return
        slot = next(slot for slot, x in others.items() if x in graph)
        names = ", ".join(f"`{b.name}`" for b in self.examples.rows[slot] if b not in self.examples.results[i])
        at = [p for k, a in enumerate(self.args) if k not in self.f.static for p in tree.paths(a, f"argument {k + 1}")]
        raise DerivativeError(
            f"{self.f.what}: the rule of {self.f.name} gives a derivative by what a result does not use",
            ("result", f"{tree.paths(self.out, 'the result')[i]}, the same for all examples of {names}"),
            ("argument", f"{at[slot]}, which differs from example to example"),
            fix="let the function use the argument for this result, as in `y + 0 * x`",
        )

    def forward(self, xs: Sequence[UOp], tangents: Sequence[UOp | None]) -> list[UOp]:
        """The tangents of the results of one example."""
        raise NotImplementedError

    def backward(self, xs: Sequence[UOp], cotangents: Sequence[UOp | None], needed: Set[int]) -> _Backward:
        """The cotangents of the arguments of one example, and its results where the rule gives them too."""
        raise NotImplementedError


class JvpCall(RuledCall):
    def forward(self, xs: Sequence[UOp], tangents: Sequence[UOp | None]) -> list[UOp]:
        """The rule that the user gave."""
        ts = [_zero(x) if d is None else d for x, d in zip(xs[: self.tensors], tangents, strict=False)]
        static, primals = self.split(self.arguments([tensor(x) for x in xs[: self.tensors]]))
        _, dxs = self.split(self.arguments([tensor(d) for d in ts]))
        with transforming():
            pair = called(
                self.f.rule,
                (*static, primals, dxs),
                {},
                f"custom_jvp: the rule of {self.f.name}",
                "rule(primals, tangents), with the arguments of nondiff_argnums in front",
            )
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise DerivativeError(
                f"custom_jvp: the rule of {self.f.name} returned {tree.describe(pair)}",
                fix="return a pair: the value and its tangent",
            )
        _fitting(self, pair[0], "value")
        return _fitting(self, pair[1], "tangent")

    def backward(self, xs: Sequence[UOp], cotangents: Sequence[UOp | None], needed: Set[int]) -> _Backward:
        """The transpose of the rule, which is linear in the tangents."""
        wanted = [i for i in range(self.tensors) if i in needed and dtypes.is_float(xs[i].dtype)]
        ts, levels = [_zero(x) for x in xs[: self.tensors]], [Level() for _ in wanted]
        seeds = {
            i: UOp(Ops.CONTIGUOUS_BACKWARD, ts[i].dtype, (ts[i],), level)
            for i, level in zip(wanted, levels, strict=True)
        }
        with transforming(levels):
            with transposed.during(level := Level()):
                dys = self.forward(xs, [seeds.get(i, d) for i, d in enumerate(ts)])
            given = [(d, ct) for d, ct in zip(dys, cotangents, strict=True) if ct is not None]
            grads, _ = pull([d for d, _ in given], [ct for _, ct in given], list(seeds.values()))
        check_transposed(grads, level)
        found = dict(zip(seeds, grads, strict=True))
        return [found.get(i) for i in range(self.tensors)], None

    def rows_of_rule(self, u: UOp, xs: Sequence[UOp]) -> list[Row]:
        seeds = {
            i: UOp(Ops.CONTIGUOUS_BACKWARD, x.dtype, (x,), Level())
            for i, x in enumerate(xs[: self.tensors])
            if dtypes.is_float(x.dtype)
        }
        with transforming([seed.arg for seed in seeds.values()]), transposed.during(Level()), only_looked_at():
            dys = self.forward(xs, [seeds.get(i) for i in range(len(xs))])
            return [row_by(d, [*seeds.values()]) or () for d in dys]


class VjpCall(RuledCall):
    def refused(self) -> DerivativeError:
        return DerivativeError(
            f"jvp: {self.f.name} has a rule for reverse mode alone (custom_vjp)",
            fix="reverse mode (grad, vjp, jacrev), or custom_jvp, whose rule both modes use",
        )

    def push(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        """There is none, but where it may be transposed or dropped: what is left of it then is refused."""
        if not (levels := transposed.get()):
            raise self.refused()
        self.check_closure(i for i, d in enumerate(tangents) if d is not None)
        return LinearCall.call(self, u, tangents, levels[-1])

    def in_reverse(self, u: UOp, moved: Set[int]) -> Sequence[UOp]:
        """What the forward rule gives."""
        with self.examples.opened() as closed, only_looked_at() if is_through_a_body() else nullcontext():
            xs = self.examples.arguments(u.src[1:])
            ys, _ = self._forward([tensor(x) for x in xs[: self.tensors]])
        return self._of_all([y for y in self._safe(ys, xs, ()) if y is not None], closed)

    def _forward(self, xs: Sequence[Tensor]) -> tuple[list[UOp], Any]:
        """The results by the forward rule, and the residuals."""
        with transforming():
            what = f"custom_vjp: the forward rule of {self.f.name}"
            pair = called(self.f.forward, self.arguments(xs), {}, what, "a rule with the parameters of the function")
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise DerivativeError(
                f"custom_vjp: the forward rule of {self.f.name} returned {tree.describe(pair)}",
                fix="return a pair: the value, and what the backward rule needs",
            )
        values = zip(_fitting(self, pair[0], "value"), tree.leaves(self.out), strict=True)
        return [x.cast(y.dtype) for x, y in values], pair[1]

    def backward(self, xs: Sequence[UOp], cotangents: Sequence[UOp | None], needed: Set[int]) -> _Backward:
        """The rule that the user gave: the residuals of the forward rule, then the backward rule."""
        ts = [tensor(x) for x in xs[: self.tensors]]
        static, primals = self.split(self.arguments(ts))
        values, residuals = self._forward(ts)
        ys = tree.leaves(self.out)
        cts = [tensor(no_change(y) if ct is None else ct) for y, ct in zip(ys, cotangents, strict=True)]
        grads = called(
            self.f.rule,
            (*static, residuals, tree.rebuild(self.out, iter(cts))),
            {},
            f"custom_vjp: the backward rule of {self.f.name}",
            "rule(residuals, cotangent), with the arguments of nondiff_argnums in front",
        )
        if not isinstance(grads, tuple | list) or len(grads) != len(primals):
            raise DerivativeError(
                f"custom_vjp: the backward rule of {self.f.name} returned {tree.describe(grads)}",
                fix=f"a tuple with a cotangent for each of the {len(primals)} arguments, None for zero",
            )
        result: list[UOp | None] = []
        for i, (x, g) in enumerate(zip(primals, grads, strict=True)):
            result += self._cotangents(x, g, f"argument {i + 1}")
        return result, values

    def rows_of_rule(self, u: UOp, xs: Sequence[UOp]) -> list[Row]:
        return [self._row_by_rule(u, xs, i) for i in range(len(tree.leaves(self.out)))]

    def _row_by_rule(self, u: UOp, xs: Sequence[UOp], i: int) -> Row:
        """What the cotangents vary over that a result gives by itself."""
        y = tree.leaves(self.out)[i]
        if not dtypes.is_float(y.dtype):
            return ()
        ct = UOp(Ops.CONTIGUOUS_BACKWARD, y.dtype, (no_change(y).src[0] + 1,), Level())
        with transforming([ct.arg]), transposed.during(Level()), only_looked_at():
            grads, _ = self.backward(xs, [ct if k == i else None for k in range(len(tree.leaves(self.out)))], {*()})
            rows = [None if g is None else row_by(g, [ct]) for g in grads]
        uses = self.uses(u, i)
        for slot, row in enumerate(rows):
            if row is not None and slot not in uses:  # an argument of each example has a derivative of each
                rows[slot] = union(row, row_of(xs[slot]))
        return functools.reduce(union, (row for row in rows if row is not None), ())

    def _cotangents(self, x: Any, g: Any, where: str) -> list[UOp | None]:
        own_leaves = tree.leaves(x)
        if g is None:
            return [None] * len(own_leaves)
        found: list[UOp | None] = []
        given = _with_none(x, g)
        if given is None or len(given) != len(own_leaves):
            raise DerivativeError(f"custom_vjp: the cotangent of {where} has another tree than it")
        for t, v in zip(own_leaves, given, strict=True):
            if v is None or not dtypes.is_float(t.dtype):
                found.append(None)
                continue
            v = tensor_of(v, f"custom_vjp: the cotangent of {where}")
            if v.shape != t.shape:
                raise DerivativeError(
                    f"custom_vjp: the cotangent of {where} does not fit it",
                    ("cotangent", vec_type(v)),
                    ("argument", vec_type(t)),
                    fix="the same shape",
                )
            found.append(v.cast(t.dtype).uop)
        return found


class LinearCall(VjpCall):
    """The results of a function with a rule for reverse mode, and tangents that nobody computes: they are transposed.

    Its arguments are those of the function, then the tangents of `moved`; its results those of the function, then
    the tangents of `given`.
    """

    is_transposed = True
    level: Level
    moved: list[int]
    given: list[int]

    @classmethod
    def call(cls, of: VjpCall, u: UOp, tangents: Sequence[UOp | None], level: Level) -> tuple[UOp, list[int | None]]:
        n, ys = len(u.src) - 1, u.src[0].src
        p = cls(of.f, of.args, of.tensors, of.out, of.examples)
        p.flag, p.level, p.moved = of.flag, level, [i for i, d in enumerate(tangents) if d is not None]
        ds = [d for d in tangents if d is not None]
        stand_ins = {i: d.param_like(n + k) for k, (i, d) in enumerate(zip(p.moved, ds, strict=True))}
        own = [stand_ins.keys() & of.means(u, i) if dtypes.is_float(y.dtype) else set() for i, y in enumerate(ys)]
        p.given = [i for i, moved in enumerate(own) if moved]
        # what they vary over, and what they depend on
        outs = [sum((stand_ins[k].sum().cast(ys[i].dtype) for k in sorted(own[i])), ys[i] * 0) for i in p.given]
        rows, made = of.examples.rows, of.examples.results
        p.examples = Examples(
            [*rows, *(rows[i] for i in p.moved)], [*made, *(made[i] for i in p.given)], of.examples.scope
        )
        new = UOp.maketuple(*ys, *outs)
        where = [len(ys) + p.given.index(i) if i in p.given else None for i in range(len(ys))]
        return UOp(Ops.FUNCTION, u.dtype, (new, *u.src[1:], *ds), CallInfo(name=u.arg.name, aux=p)), where

    def push(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        raise self.refused()

    def pull(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        """The rule itself, which gives the cotangents of tangents as it does those of arguments."""
        rule, call = self._of(u)
        n, k = len(call.src) - 1, len(call.src[0].src)
        if any(i < n for i in needed) or any(ct is not None for ct in cotangents[:k]):
            raise self.refused()
        of = dict(zip(self.given, cotangents[k:], strict=True))
        grads = rule.pull(call, [of.get(i) for i in range(k)], {self.moved[i - n] for i in needed})
        return [*([None] * n), *(grads[i] for i in self.moved)]

    def in_reverse(self, u: UOp, moved: Set[int]) -> Sequence[UOp]:
        rule, call = self._of(u)
        values = rule.in_reverse(call, moved)
        return [*values, *(u.gettuple(len(values) + i) for i in range(len(self.given)))]

    def _of(self, u: UOp) -> tuple[VjpCall, UOp]:
        """The call of the function itself."""
        n, k = len(u.src) - 1 - len(self.moved), len(u.src[0].src) - len(self.given)
        rows, made, scope = self.examples.rows[:n], self.examples.results[:k], self.examples.scope
        rule = VjpCall(self.f, self.args, self.tensors, self.out, Examples(rows, made, scope))
        rule.flag = self.flag
        src = (UOp.maketuple(*u.src[0].src[:k]), *u.src[1 : 1 + n])
        return rule, UOp(Ops.FUNCTION, u.dtype, src, CallInfo(name=u.arg.name, aux=rule))


def check_transposed(us: Sequence[UOp], level: Level) -> None:
    """Refuse values for which somebody would have to compute what was there to be transposed."""
    for u in UOp(Ops.SINK, src=tuple(us)).toposort():
        if isinstance(p := primitive_of(u), LinearCall) and p.level is level:
            raise p.refused()


def _with_none(x: Any, g: Any) -> list[Any] | None:
    """The leaves of `g` for those of `x`, where None may stand for a part."""
    found: list[Any] = []
    waiting = [(x, g)]
    while waiting:
        x, g = waiting.pop()
        n = tree.node(x)
        if g is None and x is not None:
            found += [None] * len(tree.leaves(x))
        elif n is None:
            found.append(g)
        elif (below := by_key(g, n)) is None:
            return None
        else:
            waiting.extend([*zip(n.children, below, strict=True)][::-1])
    return found


def _zero(x: UOp) -> UOp:
    out = no_change(x)
    return out if dtypes.is_float(x.dtype) else out.cast(dtypes.default_float)


def _fitting(call: RuledCall, out: Any, kind: str) -> list[UOp]:
    """The leaves of what a rule gave, which must be like the result of the function."""
    if tree.paths(out, "") != tree.paths(call.out, ""):
        raise DerivativeError(
            f"{call.f.what}: the {kind} that the rule of {call.f.name} gave has another tree than the result"
        )
    found = []
    for x, y, at in zip(tree.leaves(out), tree.leaves(call.out), tree.paths(call.out, "the result"), strict=True):
        t = tensor_of(x, f"{call.f.what}: the {kind} that the rule of {call.f.name} gave for {at}")
        if t.shape != y.shape:
            raise DerivativeError(
                f"{call.f.what}: the {kind} that the rule of {call.f.name} gave for {at} does not fit",
                (kind, vec_type(t)),
                ("result", vec_type(tensor(y))),
                fix="the shape of the result",
            )
        found.append(t.cast(y.dtype).uop if dtypes.is_float(y.dtype) else t.uop)
    return found


# ---- what functions with rules are given ----


def tensor_of(x: Any, where: str) -> Tensor:
    t = live_tensor(x, where, DerivativeError, "nondiff_argnums for other values")
    return t.cast(strong_dtype(t.dtype))


def positional(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], what: str) -> tuple[Any, ...]:
    """The arguments of a call as a rule gets them: by position, with what they default to."""
    check_takes(f, args, kwargs, what, "an argument for each of its parameters")
    try:
        bound = inspect.signature(f).bind(*args, **kwargs)
    except ValueError:  # a function that says nothing about its parameters
        if kwargs:
            raise OptionError(f"{what} is called with keywords, and has no signature", fix="positional ones") from None
        return args
    bound.apply_defaults()
    if bound.kwargs:
        raise OptionError(f"{what} has keyword-only arguments", fix="positional ones")
    return bound.args


def by_key(x: Any, like: tree.Node) -> list[Any] | None:
    """The children of `x` in the order of the keys of another container; None if it has other ones."""
    n = tree.node(x)
    if n is None or set(n.keys) != set(like.keys):
        return None
    by_key = dict(zip(n.keys, n.children, strict=True))
    return [by_key[key] for key in like.keys]
