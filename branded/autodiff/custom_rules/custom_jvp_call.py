"""Calls with a tangent rule, as primitives: the nodes that custom_jvp puts into a graph."""

from __future__ import annotations

from collections.abc import Sequence, Set

from tinygrad import dtypes
from tinygrad.uop.ops import UOp

from branded import tree
from branded.autodiff.custom_rules.custom_call import Backward, RuledCall
from branded.autodiff.custom_rules.custom_vjp_call import check_transposed
from branded.autodiff.custom_rules.rule_checks import fitting, no_tangent
from branded.autodiff.custom_rules.tangent_rows import row_by, transposed, transposing
from branded.autodiff.leaves import transforming
from branded.autodiff.reverse import pull_back
from branded.core.tracing.effect_tokens import only_looked_at
from branded.core.validation.arguments import call_checked
from branded.errors import DerivativeError
from branded.graph.primitive import params
from branded.graph.scope import Row
from branded.graph.tags import Level, leaf
from branded.graph.uops import replace_ops, tensor


class JvpCall(RuledCall):
    def vjp(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        """Apply the rule, or transpose the body of the call if the tangents of a rule are being transposed.

        In the second case the rule would call itself without end.
        """
        if not transposing.any_open():
            return super().vjp(u, cotangents, needed)
        args, outputs = u.src[1:], [i for i, ct in enumerate(cotangents) if ct is not None]
        leaf_of = {p: leaf(args[p.arg.slot]) for p in params(u.src[0])}
        wanted = [p for p in leaf_of if p.arg.slot in needed and dtypes.is_float(p.dtype)]
        ys = replace_ops([u.src[0].src[i] for i in outputs], leaf_of.get)
        grads, _ = pull_back(ys, [ct for ct in cotangents if ct is not None], [leaf_of[p] for p in wanted])
        grad_of = dict(zip((p.arg.slot for p in wanted), grads, strict=True))
        return [grad_of.get(i) for i in range(len(args))]

    def forward(self, xs: Sequence[UOp], tangents: Sequence[UOp | None]) -> list[UOp]:
        """Run the user's rule."""
        ts = [no_tangent(x) if d is None else d for x, d in zip(xs[: self.tensors], tangents, strict=False)]
        static, primals = self.split(self.arguments([tensor(x) for x in xs[: self.tensors]]))
        _, dxs = self.split(self.arguments([tensor(d) for d in ts]))
        with transforming(), transposing.without(None), self.in_step():
            pair = call_checked(
                self.f.rule,
                (*static, primals, dxs),
                {},
                f"custom_jvp: the rule of {self.f.name}",
                "rule(primals, tangents), with the arguments of nondiff_argnums in front",
            )
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise DerivativeError(
                f"custom_jvp: the rule of {self.f.name} returned {tree.describe(pair)}, not a pair",
                fix="return a pair: (value, tangent)",
            )
        fitting(self.f, self.out, pair[0], "value")
        return self.of_step(fitting(self.f, self.out, pair[1], "tangent"), xs)

    def backward(self, xs: Sequence[UOp], cotangents: Sequence[UOp | None], needed: Set[int]) -> Backward:
        """Transpose the rule, which is linear in the tangents."""
        wanted = [i for i in range(self.tensors) if i in needed and dtypes.is_float(xs[i].dtype)]
        ts, levels = [no_tangent(x) for x in xs[: self.tensors]], [Level() for _ in wanted]
        seeds = {i: leaf(ts[i], level) for i, level in zip(wanted, levels, strict=True)}
        with transforming(levels):
            with transposed.during(level := Level()):
                dys = self.forward(xs, [seeds.get(i, d) for i, d in enumerate(ts)])
            pairs = [(d, ct) for d, ct in zip(dys, cotangents, strict=True) if ct is not None]
            with transposing.during(None):
                grads, _ = pull_back([d for d, _ in pairs], [ct for _, ct in pairs], list(seeds.values()))
        check_transposed(grads, level)
        grad_of = dict(zip(seeds, grads, strict=True))
        return [grad_of.get(i) for i in range(self.tensors)], None

    def rows_of_rule(self, u: UOp, xs: Sequence[UOp]) -> list[Row]:
        seeds = {i: leaf(x) for i, x in enumerate(xs[: self.tensors]) if dtypes.is_float(x.dtype)}
        with transforming([seed.arg for seed in seeds.values()]), transposed.during(Level()), only_looked_at():
            dys = self.forward(xs, [seeds.get(i) for i in range(len(xs))])
            return [row_by(d, [*seeds.values()]) or () for d in dys]
