"""Calls with a cotangent rule, as primitives: the nodes that custom_vjp puts into a graph."""

from __future__ import annotations

import functools
from collections.abc import Sequence, Set
from contextlib import nullcontext
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import Ops, UOp

from branded import tree
from branded.autodiff.custom_rules.custom_call import Backward, RuledCall
from branded.autodiff.custom_rules.rule_checks import fitting, tensor_of, with_none
from branded.autodiff.custom_rules.tangent_rows import row_by, transposed, transposing
from branded.autodiff.leaves import transforming
from branded.core.batching.function import Examples
from branded.core.boundary import enter
from branded.core.tracing.effect_tokens import is_through_a_body, only_looked_at
from branded.core.validation.arguments import call_checked
from branded.core.values import vec_type
from branded.errors import DerivativeError
from branded.graph.primitive import primitive_of
from branded.graph.rows import row_of, visible
from branded.graph.scope import Row, union
from branded.graph.tags import Level, leaf, symbolic_zero
from branded.graph.uops import tensor
from branded.tinygrad_compat.private_api import CallInfo


class VjpCall(RuledCall):
    def forward_mode_error(self) -> DerivativeError:
        return DerivativeError(
            f"jvp: {self.f.name} has only a reverse-mode rule (custom_vjp)",
            fix="use reverse mode (grad, vjp, jacrev), or define the rule with custom_jvp",
        )

    def jvp(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        """Return tangents that can only be transposed or dropped; outside of transposition, raise an error."""
        if not (levels := transposed.get()):
            raise self.forward_mode_error()
        return LinearCall.call(self, u, self.of_arguments(u, tangents), levels[-1])

    def in_reverse(self, u: UOp, moved: Set[int]) -> Sequence[UOp]:
        """Return the results computed by the forward rule."""
        with self.examples.reopen_brands() as closed, only_looked_at() if is_through_a_body() else nullcontext():
            xs = self.examples.arguments(u.src[1:])
            with transposing.without(None), self.in_step():
                ys, _ = self._forward([tensor(x) for x in xs[: self.tensors]])
            ys = self.of_step(ys, xs)
        return self._of_all([y for y in self._safe(ys, xs, ()) if y is not None], closed)

    def _forward(self, xs: Sequence[Tensor]) -> tuple[list[UOp], Any]:
        """Run the forward rule and return the results and the residuals."""
        with transforming():
            api_name = f"custom_vjp: the forward rule of {self.f.name}"
            pair = call_checked(
                self.f.forward, self.arguments(xs), {}, api_name, "a rule with the parameters of the function"
            )
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise DerivativeError(
                f"custom_vjp: the forward rule of {self.f.name} returned {tree.describe(pair)}, not a pair",
                fix="return a pair: (value, residuals)",
            )
        values = zip(fitting(self.f, self.out, pair[0], "value"), tree.leaves(self.out), strict=True)
        return [x.cast(y.dtype) for x, y in values], pair[1]

    def backward(self, xs: Sequence[UOp], cotangents: Sequence[UOp | None], needed: Set[int]) -> Backward:
        """Run the user's forward rule for the residuals, then the backward rule."""
        with transposing.without(None), self.in_step():
            grads, values = self._backward(xs, cotangents)
        return self.of_step(grads, xs), self.of_step(values, xs)

    def _backward(self, xs: Sequence[UOp], cotangents: Sequence[UOp | None]) -> tuple[list[UOp | None], list[UOp]]:
        ts = [tensor(x) for x in xs[: self.tensors]]
        static, primals = self.split(self.arguments(ts))
        values, residuals = self._forward(ts)
        ys = tree.leaves(self.out)
        cts = [tensor(symbolic_zero(y) if ct is None else ct) for y, ct in zip(ys, cotangents, strict=True)]
        grads = call_checked(
            self.f.rule,
            (*static, residuals, tree.rebuild(self.out, iter(cts))),
            {},
            f"custom_vjp: the backward rule of {self.f.name}",
            "rule(residuals, cotangent), with the arguments of nondiff_argnums in front",
        )
        if not isinstance(grads, tuple | list) or len(grads) != len(primals):
            raise DerivativeError(
                f"custom_vjp: the backward rule of {self.f.name} returned {tree.describe(grads)}, not cotangents",
                fix=f"return a tuple with one cotangent for each of the {len(primals)} arguments, None for zero",
            )
        result: list[UOp | None] = []
        for i, (x, g) in enumerate(zip(primals, grads, strict=True)):
            result += self._cotangents(x, g, f"argument {i + 1}")
        return result, values

    def rows_of_rule(self, u: UOp, xs: Sequence[UOp]) -> list[Row]:
        return [self._row_by_rule(u, xs, i) for i in range(len(tree.leaves(self.out)))]

    def _row_by_rule(self, u: UOp, xs: Sequence[UOp], i: int) -> Row:
        """Return the brands of the cotangents that the rule returns for this result alone."""
        y = tree.leaves(self.out)[i]
        if not dtypes.is_float(y.dtype):
            return ()
        uses = self.uses(u, i)
        # if examples exchange values, as by psum, a rule without an exchange returns a cotangent for each example
        used = visible(functools.reduce(union, (row_of(xs[slot]) for slot in uses), ()))
        indices = [enter(UOp.arange(b.size), b) for b in used if b.size and b not in row_of(y)]
        one = y.const_like(1)
        ct = leaf(functools.reduce(lambda one, k: (k >= 0).where(one, one * 0), indices, one))
        with transforming([ct.arg]), transposed.during(Level()), only_looked_at():
            grads, _ = self.backward(xs, [ct if k == i else None for k in range(len(tree.leaves(self.out)))], {*()})
            rows = [None if g is None else row_by(g, [ct]) for g in grads]
        for slot, row in enumerate(rows):
            if row is not None and slot not in uses:  # a batched argument has a batched derivative
                rows[slot] = union(row, row_of(xs[slot]))
        return functools.reduce(union, (row for row in rows if row is not None), ())

    def _cotangents(self, x: Any, g: Any, where: str) -> list[UOp | None]:
        own_leaves = tree.leaves(x)
        if g is None:
            return [None] * len(own_leaves)
        out: list[UOp | None] = []
        values = with_none(x, g)
        if values is None or len(values) != len(own_leaves):
            raise DerivativeError(
                f"custom_vjp: the cotangent of {where} has another structure",
                fix="return the structure of the argument, with None for zeros",
            )
        for t, v in zip(own_leaves, values, strict=True):
            if v is None or not dtypes.is_float(t.dtype):
                out.append(None)
                continue
            v = tensor_of(v, f"custom_vjp: the cotangent of {where}")
            if v.shape != t.shape:
                raise DerivativeError(
                    f"custom_vjp: the cotangent of {where} has another shape",
                    ("cotangent", vec_type(v)),
                    ("argument", vec_type(t)),
                    fix="use the same shape",
                )
            out.append(v.cast(t.dtype).uop)
        return out


class LinearCall(VjpCall):
    """A VjpCall with tangents that are never computed, only transposed.

    Its arguments are the arguments of the function, then the tangents of `moved`. Its results are the results of the
    function, then the tangents of `given`.
    """

    is_transposed = True
    level: Level
    moved: list[int]
    given: list[int]

    @classmethod
    def call(cls, rule: VjpCall, u: UOp, tangents: Sequence[UOp | None], level: Level) -> tuple[UOp, list[int | None]]:
        n, ys = len(u.src) - 1, u.src[0].src
        p = cls(rule.f, rule.args, rule.tensors, rule.out, rule.examples)
        p.flag, p.steps, p.level = rule.flag, rule.steps, level
        p.moved = [i for i, d in enumerate(tangents) if d is not None]
        ds = [d for d in tangents if d is not None]
        stand_ins = {i: d.param_like(n + k) for k, (i, d) in enumerate(zip(p.moved, ds, strict=True))}
        moves = [stand_ins.keys() & rule.means(u, i) if dtypes.is_float(y.dtype) else set() for i, y in enumerate(ys)]
        p.given = [i for i, moved in enumerate(moves) if moved]
        # placeholders with the brands and the dependencies of the tangents
        outs = [sum((stand_ins[k].sum().cast(ys[i].dtype) for k in sorted(moves[i])), ys[i] * 0) for i in p.given]
        rows, result_rows = rule.examples.rows, rule.examples.results
        p.examples = Examples(
            [*rows, *(rows[i] for i in p.moved)],
            [*result_rows, *(result_rows[i] for i in p.given)],
            rule.examples.scope,
        )
        new = UOp.maketuple(*ys, *outs)
        where = [len(ys) + p.given.index(i) if i in p.given else None for i in range(len(ys))]
        return UOp(Ops.FUNCTION, u.dtype, (new, *u.src[1:], *ds), CallInfo(name=u.arg.name, aux=p)), where

    def jvp(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        raise self.forward_mode_error()

    def vjp(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        """Apply the backward rule: the cotangents of tangents equal the cotangents of the arguments."""
        rule, call = self._of(u)
        n, k = len(call.src) - 1, len(call.src[0].src)
        if any(i < n for i in needed) or any(ct is not None for ct in cotangents[:k]):
            raise self.forward_mode_error()
        cotangent_of = dict(zip(self.given, cotangents[k:], strict=True))
        grads = rule.vjp(call, [cotangent_of.get(i) for i in range(k)], {self.moved[i - n] for i in needed})
        return [*([None] * n), *(grads[i] for i in self.moved)]

    def in_reverse(self, u: UOp, moved: Set[int]) -> Sequence[UOp]:
        rule, call = self._of(u)
        values = rule.in_reverse(call, moved)
        return [*values, *(u.gettuple(len(values) + i) for i in range(len(self.given)))]

    def _of(self, u: UOp) -> tuple[VjpCall, UOp]:
        """Rebuild the VjpCall and its call of the function."""
        n, k = len(u.src) - 1 - len(self.moved), len(u.src[0].src) - len(self.given)
        rows, result_rows, scope = self.examples.rows[:n], self.examples.results[:k], self.examples.scope
        rule = VjpCall(self.f, self.args, self.tensors, self.out, Examples(rows, result_rows, scope))
        rule.flag, rule.steps = self.flag, self.steps
        src = (UOp.maketuple(*u.src[0].src[:k]), *u.src[1 : 1 + n])
        return rule, UOp(Ops.FUNCTION, u.dtype, src, CallInfo(name=u.arg.name, aux=rule))


def check_transposed(us: Sequence[UOp], level: Level) -> None:
    """Raise if a value still needs tangents that exist only to be transposed."""
    for u in UOp(Ops.SINK, src=tuple(us)).toposort():
        if isinstance(p := primitive_of(u), LinearCall) and p.level is level:
            raise p.forward_mode_error()
