"""Custom rules whose tangents vary over more brands than the results of the function."""

from __future__ import annotations

from collections.abc import Sequence, Set
from copy import copy
from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, UOp

from branded import tree
from branded.autodiff.forward import push_forward
from branded.core.batching.function import Examples
from branded.core.boundary import enter
from branded.errors import BrandedError, DerivativeError
from branded.graph.primitive import Primitive, results
from branded.graph.rows import is_differentiated, row_of, visible
from branded.graph.scope import Row, open_brands
from branded.graph.tags import Level
from branded.tinygrad_compat.context_stack import ContextStack
from branded.tinygrad_compat.private_api import CallInfo

transposed: ContextStack[Level] = ContextStack("branded_transposed")
"""The levels of custom_jvp rules that run in reverse mode: their tangents are transposed when the rule returns."""

transposing: ContextStack[None] = ContextStack("branded_transposing")
"""Open while the tangent that a rule returned is transposed: it is a linear function of the rule's tangents."""

asked: ContextStack[Any] = ContextStack("branded_asked")
"""The functions whose rules run only to find the brands of their results; calls of them in the rule stay unchanged."""


class RowWideningCall(Primitive):
    """A call with a custom rule, whose results get all brands over which their derivatives vary.

    Example: `f(x, w) = w` with the tangent `cos(x) dw`, differentiated under a vmap over `x`. The result is the same
    for all examples, but its tangent is not.
    """

    f: Any
    args: tuple[Any, ...]
    out: Any
    examples: Examples

    def rows_of_rule(self, u: UOp, xs: Sequence[UOp]) -> list[Row]:
        """Return for each result the brands over which its derivative varies, by running the rule at `xs`."""
        raise NotImplementedError

    def widen_results(self, u: UOp) -> UOp:
        """Return the call `u` with each result extended to all brands over which its derivative varies."""
        here = visible(open_brands())
        lacks = [dtypes.is_float(y.dtype) and not {*here} <= {*row_of(y)} for y in results(u)]
        if not any(lacks) or not any(map(_may_have_tangent, u.src[1:])):
            return u
        with asked.during(self.f):
            rows = self.rows_of_rule(u, u.src[1:])
        more = [
            [b for b in here if b.size and b in row and b not in row_of(y)] if lack else []
            for y, row, lack in zip(results(u), rows, lacks, strict=True)
        ]
        brands = [b for b in here if any(b in row for row in more)]
        if not brands:
            return u
        n, indices = len(u.src) - 1, [enter(UOp.arange(b.size), b) for b in brands]
        param_of = {b: x.param_like(n + k) for k, (b, x) in enumerate(zip(brands, indices, strict=True))}
        outs = list(u.src[0].src)
        for i, row in enumerate(more):
            for b in row:
                outs[i] = (param_of[b] >= 0).where(outs[i], outs[i].const_like(0))
        new, rows_of_all = copy(self), [()] * (n + len(indices))
        new.examples = Examples(rows_of_all, self.examples.results, self.examples.scope)
        return u.replace(src=(UOp.maketuple(*outs), *u.src[1:], *indices), arg=CallInfo(name=u.arg.name, aux=new))

    def check_rows(self, u: UOp, xs: Sequence[UOp], asked: Set[int], closed: Row) -> None:
        """Raise if a result is the same for all examples but its derivative is not."""
        over = tuple(dict.fromkeys((*self.examples.brands, *visible(closed))))
        if all({*over} <= {*self.examples.results[i]} for i in asked):
            return
        for i, row in enumerate(self.rows_of_rule(u, xs)):
            if i in asked and (more := [b for b in row if b in over and b not in self.examples.results[i]]):
                names = ", ".join(f"`{b.name}`" for b in more)
                raise DerivativeError(
                    f"{self.f.api_name}: the rule of {self.f.name} returns a derivative with respect to a value "
                    "that a result does not use",
                    ("result", f"{tree.paths(self.out, 'the result')[i]}, the same for all examples of {names}"),
                    ("derivative", "differs from example to example"),
                    fix="use the same values in the function as in its rule: `y + 0 * x`",
                )


def _may_have_tangent(x: UOp) -> bool:
    """Return whether this is computed from a leaf of a derivative, or from an argument of a body.

    The body of a loop or of a function is traced once, and differentiated later.
    """
    if is_differentiated(x) or any(not b.is_brand and b.turn == "step" for b in row_of(x)):
        return True
    return any(u.op is Ops.PARAM for u in x.toposort(enter_calls=False))


def row_by(d: UOp, seeds: Sequence[UOp]) -> Row | None:
    """Return the brands of the terms of `d` that depend on the seeds, or None if no term does.

    A part with a zero derivative does not count.
    """
    try:
        (t,) = push_forward([d], {seed: seed.src[0] for seed in seeds})
    except BrandedError:  # without a tangent rule, assume that it varies over all its brands
        return row_of(d)
    return None if t is None else row_of(t)
