"""Rules of one's own: custom_jvp, custom_vjp, custom_vmap and sequential_vmap."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Sequence, Set
from copy import copy
from typing import Any, Generic, ParamSpec, TypeVar, cast

from tinygrad import Tensor, dtypes
from tinygrad.dtype import strong_dtype
from tinygrad.uop.ops import Ops, UOp

from branded import tree
from branded.calls import called, check_function, check_takes
from branded.crossing import check_live, live_tensor, lower, stage
from branded.derivatives.leaves import Level, pull, transforming
from branded.derivatives.reverse import ran_again
from branded.errors import AxesError, DerivativeError, OptionError
from branded.graph import replaced, tensor
from branded.loops.api import map as map_
from branded.loops.primitive import closed, param
from branded.patches.tg import CallInfo
from branded.primitive import Batched, Bundle, Primitive, Run, primitive_of, results
from branded.rows import is_touched, is_zero, no_change, row_of, visible
from branded.rules.function import Examples, batch_body
from branded.scope import Blocks, Row, Scope, call_body, open_brands, union
from branded.transforms.collectives import own
from branded.values import vec_type

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")
P = ParamSpec("P")

# ---- calls whose derivative the user gives ----

_Backward = tuple[list["UOp | None"], "list[UOp] | None"]
_transposed: Blocks[Level] = Blocks("branded_transposed")
"""The rules of custom_jvp that are at work for reverse mode, which are transposed as soon as they are done."""


class _RuledCall(Primitive):
    """A call of a function with a derivative of its own: which leaves of its arguments are tensors, and the trees.

    On a batch it is the same call, whose rule is that of one example.
    """

    is_rule = True
    exchanges = False
    """Is an example told from others in the body, as by `axis_index`, so that the same may give each something else?"""

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
        with self.examples.opened() as closed:
            ts = self.examples.tangents(tangents)
            ds = self.forward(self.examples.arguments(u.src[1:]), ts)
        given: list[UOp | None] = []
        for i, d in enumerate(ds):
            meant = self.means(u, i)
            self._check_meant(i, d, {slot: t for slot, t in enumerate(ts) if t is not None and slot not in meant})
            moved = any(tangents[slot] is not None for slot in meant)
            given.append(d if moved and dtypes.is_float(d.dtype) and not is_zero(d) else None)
        done = self.examples.of_all(given, closed)
        where = itertools.count()
        return UOp.maketuple(*(d for d in done if d is not None)), [None if d is None else next(where) for d in done]

    def pull(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        meant = {i: self.means(u, i) for i, ct in enumerate(cotangents) if ct is not None}
        floats = {i for i in needed if dtypes.is_float(u.src[1 + i].dtype)}
        used = floats & {slot for slots_of in meant.values() for slot in slots_of}
        self.check_closure(used)
        wanted = used | {i for i in floats if i < self.tensors and meant}
        with self.examples.opened() as closed:
            xs, cts = self.examples.arguments(u.src[1:]), self.examples.cotangents(cotangents)
            grads, values = self.backward(xs, cts, wanted)
            for i, slots_of in meant.items():
                for slot in wanted - slots_of:
                    if (g := grads[slot]) is not None and (ct := cts[i]) is not None:
                        self._check_meant(i, g, {slot: ct})
        if values is not None:
            ran_again(u, self._of_all(values, closed))
        given = [g if i in used and g is not None and not is_zero(g) else None for i, g in enumerate(grads)]
        return self.examples.totals([*given, *[None] * (len(xs) - len(given))], closed)

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


class _Jvp(_RuledCall):
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
            with _transposed.during(level := Level()):
                dys = self.forward(xs, [seeds.get(i, d) for i, d in enumerate(ts)])
            given = [(d, ct) for d, ct in zip(dys, cotangents, strict=True) if ct is not None]
            grads, _ = pull([d for d, _ in given], [ct for _, ct in given], list(seeds.values()))
        for u in UOp(Ops.SINK, src=tuple(grads)).toposort():
            if isinstance(p := primitive_of(u), _Linear) and p.level is level:
                raise p.refused()
        found = dict(zip(seeds, grads, strict=True))
        return [found.get(i) for i in range(self.tensors)], None


class _Vjp(_RuledCall):
    def refused(self) -> DerivativeError:
        return DerivativeError(
            f"jvp: {self.f.name} has a rule for reverse mode alone (custom_vjp)",
            fix="reverse mode (grad, vjp, jacrev), or custom_jvp, whose rule both modes use",
        )

    def push(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        """There is none, but in a rule that is about to be transposed: of its transpose there is."""
        if not (levels := _transposed.get()):
            raise self.refused()
        self.check_closure(i for i, d in enumerate(tangents) if d is not None)
        return _Linear.call(self, u, tangents, levels[-1])

    def in_reverse(self, u: UOp) -> Sequence[UOp]:
        """What the forward rule gives."""
        with self.examples.opened() as closed:
            ys, _ = self._forward([tensor(x) for x in self.examples.arguments(u.src[1:])[: self.tensors]])
        return self._of_all(ys, closed)

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
            v = _tensor(v, f"custom_vjp: the cotangent of {where}")
            if v.shape != t.shape:
                raise DerivativeError(
                    f"custom_vjp: the cotangent of {where} does not fit it",
                    ("cotangent", vec_type(v)),
                    ("argument", vec_type(t)),
                    fix="the same shape",
                )
            found.append(v.cast(t.dtype).uop)
        return found


class _Linear(_Vjp):
    """The results of a function with a rule for reverse mode, and tangents that nobody computes: they are transposed.

    Its arguments are those of the function, then the tangents of `moved`; its results those of the function, then
    the tangents of `given`.
    """

    level: Level
    moved: list[int]
    given: list[int]

    @classmethod
    def call(cls, of: _Vjp, u: UOp, tangents: Sequence[UOp | None], level: Level) -> tuple[UOp, list[int | None]]:
        n, ys = len(u.src) - 1, u.src[0].src
        p = cls(of.f, of.args, of.tensors, of.out, of.examples)
        p.level, p.moved = level, [i for i, d in enumerate(tangents) if d is not None]
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
        n, k = len(u.src) - 1 - len(self.moved), len(u.src[0].src) - len(self.given)
        if any(i < n for i in needed) or any(ct is not None for ct in cotangents[:k]):
            raise self.refused()
        rows, made, scope = self.examples.rows[:n], self.examples.results[:k], self.examples.scope
        rule = _Vjp(self.f, self.args, self.tensors, self.out, Examples(rows, made, scope))
        src = (UOp.maketuple(*u.src[0].src[:k]), *u.src[1 : 1 + n])
        call = UOp(Ops.FUNCTION, u.dtype, src, CallInfo(name=u.arg.name, aux=rule))
        of = dict(zip(self.given, cotangents[k:], strict=True))
        grads = rule.pull(call, [of.get(i) for i in range(k)], {self.moved[i - n] for i in needed})
        return [*([None] * n), *(grads[i] for i in self.moved)]


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
        elif (below := _by_key(g, n)) is None:
            return None
        else:
            waiting.extend([*zip(n.children, below, strict=True)][::-1])
    return found


def _by_key(x: Any, like: tree.Node) -> list[Any] | None:
    """The children of `x` in the order of the keys of another container; None if it has other ones."""
    n = tree.node(x)
    if n is None or set(n.keys) != set(like.keys):
        return None
    by_key = dict(zip(n.keys, n.children, strict=True))
    return [by_key[key] for key in like.keys]


def _zero(x: UOp) -> UOp:
    out = no_change(x)
    return out if dtypes.is_float(x.dtype) else out.cast(dtypes.default_float)


def _fitting(call: _RuledCall, out: Any, kind: str) -> list[UOp]:
    """The leaves of what a rule gave, which must be like the result of the function."""
    out = tree.in_order_of(out, call.out)
    if tree.paths(out, "") != tree.paths(call.out, ""):
        raise DerivativeError(
            f"{call.f.what}: the {kind} that the rule of {call.f.name} gave has another tree than the result"
        )
    found = []
    for x, y, at in zip(tree.leaves(out), tree.leaves(call.out), tree.paths(call.out, "the result"), strict=True):
        t = _tensor(x, f"{call.f.what}: the {kind} that the rule of {call.f.name} gave for {at}")
        if t.shape != y.shape:
            raise DerivativeError(
                f"{call.f.what}: the {kind} that the rule of {call.f.name} gave for {at} does not fit",
                (kind, vec_type(t)),
                ("result", vec_type(tensor(y))),
                fix="the shape of the result",
            )
        found.append(t.cast(y.dtype).uop if dtypes.is_float(y.dtype) else t.uop)
    return found


class _Custom(Generic[P, R]):
    """A function with a rule of its own for its derivative."""

    what = "custom"
    primitive: type[_RuledCall]

    def __init__(self, f: Callable[P, R], nondiff_argnums: Sequence[int] = ()) -> None:
        if not callable(f):
            raise DerivativeError(f"{self.what}: {tree.describe(f)} is not a function")
        functools.update_wrapper(self, f)
        if not isinstance(nondiff_argnums, tuple | list) or not all(type(i) is int for i in nondiff_argnums):
            raise DerivativeError(
                f"{self.what}: nondiff_argnums={tree.shown(nondiff_argnums)}",
                fix="a tuple of positions of arguments: (0,)",
            )
        self.f, self.static = f, frozenset(nondiff_argnums)
        self.name = getattr(f, "__name__", repr(f))
        self.rule: Callable[..., Any] = self._missing

    def _missing(self, *args: Any, **kwargs: Any) -> Any:
        raise DerivativeError(f"{self.what}: {self.name} has no rule yet", fix=f"{self.name}.{self._definer}(...)")

    _definer = "def"

    def __get__(self, obj: Any, objtype: type | None = None) -> Any:
        return self if obj is None else functools.partial(self, obj)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The call as one FUNCTION, whose primitive has the rule.  Of `f(x) = sin(x) * w`:

        its leaves      p, an identity over x, on which `f` runs: sin(p) * w
        its body        SIN(PARAM 0) * PARAM 1, of x in place of p, and of w, which it closes over
        its result      FUNCTION(the body, x, w)
        """
        given = _positional(self.f, args, kwargs, f"{self.what}: {self.name}")
        if beyond := [i for i in self.static if not 0 <= i < len(given)]:
            raise DerivativeError(
                f"{self.what}: nondiff_argnums has {beyond[0]}, and {self.name} has {len(given)} arguments",
                fix="the positions of arguments, counted from 0",
            )
        # a leaf of its own for each tensor, so that the graph of the result says where it is used
        level, places, new_args = Level(), list[UOp](), list[Any]()
        for i, a in enumerate(given):
            if i in self.static:
                new_args.append(a)
                continue
            new = []
            for x, at in zip(tree.leaves(a), tree.paths(a, f"argument {i + 1}"), strict=True):
                t = _tensor(x, f"{self.what}: {at} of {self.name}")
                places.append(UOp(Ops.CONTIGUOUS_BACKWARD, t.dtype, (t.uop,), (level, len(places))))
                new.append(tensor(places[-1]))
            new_args.append(tree.rebuild(a, iter(new)))
        f: Callable[..., Any] = self.f
        with call_body():
            out = f(*new_args)
        ys = []
        for x, at in zip(tree.leaves(out), tree.paths(out, "the result"), strict=True):
            t = _tensor(x, f"{self.what}: {at} of {self.name}")
            ys.append(t.uop)
        if not ys:
            return cast(R, out)
        params = [param(p.shape, p.dtype, p.device) for p in places]
        body = lower(replaced(ys, dict(zip(places, params, strict=True)).get), open_brands())
        closed_body, fixed = closed(body, params)
        given_to_it = (*(p.src[0] for p in places), *fixed)
        examples = Examples([()] * len(given_to_it), [()] * len(ys), visible(open_brands()))
        call = self.primitive(self, tuple(new_args), len(places), tree.rebuild(out, iter(ys)), examples)
        u = UOp(Ops.FUNCTION, dtypes.void, (closed_body, *given_to_it), CallInfo(name=self.name, aux=call))
        return cast(R, tree.rebuild(out, iter([tensor(x) for x in results(u)])))


def _positional(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], what: str) -> tuple[Any, ...]:
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


def _rule(f: F, of: _Custom[Any, Any], which: str) -> F:
    check_function(f, f"{of.what}: {which} of {of.name}", error=DerivativeError)
    return f


def _none(*_: Any) -> None:
    """The rule of an argument whose tangent is zero."""


def _tensor(x: Any, where: str) -> Tensor:
    t = live_tensor(x, where, DerivativeError, "nondiff_argnums for other values")
    return t.cast(strong_dtype(t.dtype))


class custom_jvp(_Custom[P, R]):  # noqa: N801  as in JAX
    """A function with a rule for its tangent, which both modes of derivatives use, also under vmap.

    Args:
        f: A function of trees of tensors.
        nondiff_argnums: The positions of arguments that are not differentiated, and may be of any type.

    Returns:
        The function, with `defjvp(rule)` and `defjvps(*rules)` to give the rule.

    Raises:
        DerivativeError: There is no rule, or it gives something that does not fit the result.

    Example:
        >>> from branded import custom_jvp, grad
        >>> from tinygrad import Tensor
        >>> @custom_jvp
        ... def softplus(x): return (1 + x.exp()).log()
        >>> @softplus.defjvp
        ... def rule(primals, tangents): return softplus(*primals), primals[0].sigmoid() * tangents[0]
        >>> grad(softplus)(Tensor(0.0)).item()
        0.5

    Source: `jax.custom_jvp`.
    """

    what, _definer, primitive = "custom_jvp", "defjvp", _Jvp

    def defjvp(self, jvp: F) -> F:
        """`jvp(primals, tangents) -> (value, tangent)`, with arguments of `nondiff_argnums` in front."""
        self.rule = _rule(jvp, self, "the rule")
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """A rule for each argument: `jvp(tangent, value, *primals) -> tangent`; None where it is zero."""

        for one in jvps:
            _rule(one if one is not None else _none, self, "a rule")

        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            f: Callable[..., Any] = self
            if len(jvps) != len(tangents):
                raise DerivativeError(
                    f"custom_jvp: {len(jvps)} rules for the {len(tangents)} arguments of {self.name}",
                    fix="a rule for each argument, None where the tangent is zero",
                )
            y = f(*primals)
            parts = [f(t, y, *primals) for f, t in zip(jvps, tangents, strict=True) if f is not None]
            zeros = [tensor(no_change(x.uop)) for x in tree.leaves(y)]
            sums = [
                functools.reduce(lambda a, b: a + b, xs)
                for xs in zip(zeros, *(tree.leaves(tree.in_order_of(part, y)) for part in parts), strict=True)
            ]
            return y, tree.rebuild(y, iter(sums))

        self.rule = rule


class custom_vjp(_Custom[P, R]):  # noqa: N801  as in JAX
    """A function with a rule for its cotangents, which reverse mode uses, also under vmap.

    Args:
        f: A function of trees of tensors.
        nondiff_argnums: The positions of arguments that are not differentiated, and may be of any type.

    Returns:
        The function, with `defvjp(fwd, bwd)` to give the rules.

    Raises:
        DerivativeError: There is no rule, it gives something that does not fit, or forward mode is asked for.

    Example:
        >>> from branded import custom_vjp, grad
        >>> from tinygrad import Tensor
        >>> @custom_vjp
        ... def clipped(x): return x * 1
        >>> clipped.defvjp(lambda x: (x * 1, None), lambda residuals, ct: (ct.clip(-1, 1),))
        >>> grad(lambda x: (10 * clipped(x)).sum())(Tensor([1.0, 2.0])).tolist()
        [1.0, 1.0]

    Source: `jax.custom_vjp`.
    """

    what, _definer, primitive = "custom_vjp", "defvjp", _Vjp

    def __init__(self, f: Callable[P, R], nondiff_argnums: Sequence[int] = ()) -> None:
        super().__init__(f, nondiff_argnums)
        self.forward: Callable[..., Any] = self._missing

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """`fwd(*args) -> (value, residuals)` and `bwd(residuals, ct) -> cotangents`, static arguments in front."""
        self.forward, self.rule = _rule(fwd, self, "the forward rule"), _rule(bwd, self, "the backward rule")


# ---- calls whose batching the user gives ----


class custom_vmap(Generic[P, R]):  # noqa: N801  as in JAX
    """A function with a rule of its own for vmap.

    Args:
        fun: A function of trees of tensors.

    Returns:
        The function, with `def_vmap(rule)` to give the rule: `rule(axis_size, in_batched, *args)` gets a bool for each
        tensor that says whether it has a leading axis of examples, and gives `(out, out_batched)`.

    Raises:
        AxesError: There is no rule, or it gives something that does not fit.

    Example:
        >>> from branded import custom_vmap, vmap
        >>> from tinygrad import Tensor
        >>> @custom_vmap
        ... def double(x): return x * 2
        >>> @double.def_vmap
        ... def rule(axis_size, in_batched, x): return x * 2 + axis_size, in_batched[0]
        >>> double(Tensor(1)).item(), vmap(double)(Tensor([1, 2, 3])).tolist()
        (2, [5, 7, 9])

    Source: `jax.custom_batching.custom_vmap`.
    """

    def __init__(self, fun: Callable[P, R]) -> None:
        if not callable(fun):
            raise AxesError(f"custom_vmap: {tree.describe(fun)} is not a function")
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.rule: Callable[..., Any] | None = None

    def def_vmap(self, rule: F) -> F:
        """`rule(axis_size, in_batched, *args) -> (out, out_batched)`."""
        check_function(rule, f"custom_vmap: the rule of {_name(self.fun)}", error=AxesError)
        self.rule = rule
        return rule

    def __get__(self, obj: Any, objtype: type | None = None) -> Any:
        return self if obj is None else functools.partial(self, obj)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        name = _name(self.fun)
        call: tuple[Any, ...] = _positional(self.fun, args, kwargs, f"custom_vmap: {name}")
        leaves = [x for a in call for x in tree.leaves(a)]
        row: Row = functools.reduce(union, (row_of(x.uop) for x in leaves if isinstance(x, Tensor)), ())
        here = [b for b in row if b.is_brand]
        if not here:
            fix = "an argument for each of its parameters"
            return cast(R, called(self.fun, args, kwargs, f"custom_vmap: {name}", fix))
        if self.rule is None:
            raise AxesError(f"custom_vmap: {name} has no rule yet", fix=f"{name}.def_vmap(rule)")
        b = here[-1]  # the innermost
        given = [_staged(a, b, f"custom_vmap: argument {i + 1} of {name}") for i, a in enumerate(call)]
        xs, batched = [x for x, _ in given], [flags for _, flags in given]
        what = f"custom_vmap: the rule of {name}"
        pair = called(self.rule, (b.size, batched, *xs), {}, what, "rule(axis_size, in_batched, *args)")
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise AxesError(
                f"custom_vmap: the rule of {name} returned {tree.describe(pair)}",
                fix="return a pair: the results, and a bool for each that says whether it is batched",
            )
        return cast(R, _entries(*pair, b, name))


def _staged(x: Any, b: Scope, where: str) -> tuple[Any, Any]:
    """An argument with the examples of `b` along axis 0, and for each of its leaves whether it has them."""
    leaves = tree.leaves(x)
    for v in leaves:
        if isinstance(v, Tensor):
            check_live(v.uop, where)
    flags = [isinstance(v, Tensor) and b in row_of(v.uop) for v in leaves]
    values = [tensor(stage(v.uop, b)) if varies else v for v, varies in zip(leaves, flags, strict=True)]
    return tree.rebuild(x, iter(values)), tree.rebuild(x, iter(flags))


def _entries(out: Any, out_batched: Any, b: Scope, name: str) -> Any:
    """What a rule gave, of which each example takes its own entry."""
    leaves, flags = tree.leaves(out), _flags(out_batched, out, name)
    back = []
    for y, varies, at in zip(leaves, flags, tree.paths(out, "the result"), strict=True):
        y = _tensor(y, f"custom_vmap: {at} of the rule of {name}")
        if varies and (not y.shape or y.shape[0] != b.size):
            raise AxesError(
                f"custom_vmap: {at} of the rule of {name} is said to be batched, and has no axis of examples",
                ("value", vec_type(y)),
                fix=f"the {b.size} examples along axis 0, or False in out_batched",
            )
        back.append(own(y, b) if varies else y)
    return tree.rebuild(out, iter(back))


def _name(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", "f")


def _flags(batched: Any, out: Any, name: str) -> list[bool]:
    """A bool for each leaf of the result, from a prefix tree of them."""
    found: list[bool] = []
    waiting = [(batched, out)]
    while waiting:
        batched, out = waiting.pop()
        if isinstance(batched, bool):
            found += [batched] * len(tree.leaves(out))
            continue
        n = tree.node(out)
        if n is None or (below := _by_key(batched, n)) is None:
            raise AxesError(
                f"custom_vmap: out_batched of the rule of {name} does not fit its results", fix="a bool for each"
            )
        waiting.extend([*zip(below, n.children, strict=True)][::-1])
    return found


def sequential_vmap(f: Callable[P, R]) -> custom_vmap[P, R]:
    """`f`, whose vmap is a loop over the examples, one after the other: `vmap(f)(xs)` is `map(f, xs)`.

    Args:
        f: A function of trees of tensors.

    Returns:
        The function: a `custom_vmap` with its rule.

    Example:
        >>> from branded import sequential_vmap, vmap
        >>> from tinygrad import Tensor
        >>> vmap(sequential_vmap(lambda x: x.sum()))(Tensor([[1, 2], [3, 4]])).tolist()
        [3, 7]

    Source: `jax.custom_batching.sequential_vmap`.
    """
    mapped: Any = custom_vmap(f)

    def rule(axis_size: int, in_batched: list[Any], *args: Any) -> tuple[Any, Any]:
        flags = [x for t in in_batched for x in tree.leaves(t)]
        leaves = [x for a in args for x in tree.leaves(a)]
        moving = [x for x, varies in zip(leaves, flags, strict=True) if varies]

        def one(xs: list[Any]) -> Any:
            new, same = iter(xs), iter(leaves)
            full_args = iter([next(new) if varies else x for x, varies in zip(same, flags, strict=True)])
            return mapped(*(tree.rebuild(a, full_args) for a in args))

        out = map_(one, moving)
        return out, True

    mapped.def_vmap(rule)
    return cast("custom_vmap[P, R]", mapped)
