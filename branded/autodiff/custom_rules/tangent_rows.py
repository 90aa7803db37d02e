"""Results that a rule of the user tells apart where the function does not."""

from __future__ import annotations

from collections.abc import Sequence, Set
from copy import copy
from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import UOp

from branded import tree
from branded.autodiff.forward import push
from branded.autodiff.tags import Level
from branded.core.batching.function import Examples
from branded.core.boundary import enter
from branded.errors import BrandedError, DerivativeError
from branded.graph.primitive import Primitive, results
from branded.graph.rows import row_of, visible
from branded.graph.scope import Blocks, Row, open_brands
from branded.tinygrad_compat.private_api import CallInfo

transposed: Blocks[Level] = Blocks("branded_transposed")
"""The rules of custom_jvp that are at work for reverse mode, which are transposed as soon as they are done."""

transposing: Blocks[None] = Blocks("branded_transposing")
"""Is a tangent that a rule gave transposed, which is linear in the tangents that the rule was given?"""

asked: Blocks[Any] = Blocks("branded_asked")
"""The functions whose rule runs only to see what it gives: their calls in it are as they are."""


class Apart(Primitive):
    """A call with a rule: its results vary over what their derivatives do.

    Of `f(x, w) = w` with the tangent `cos(x) dw`, in a vmap over `x` that is differentiated: the result is the same for
    all examples, and its tangent is not.
    """

    f: Any
    args: tuple[Any, ...]
    out: Any
    examples: Examples

    def rows_of_rule(self, u: UOp, xs: Sequence[UOp]) -> list[Row]:
        """For each result the brands over which its derivative varies, as the rule gives it at `xs`."""
        raise NotImplementedError

    def told_apart(self, u: UOp) -> UOp:
        """The call `u`, of which each result varies over all that its derivative does, though it does not use it."""
        here = visible(open_brands())
        lacks = [dtypes.is_float(y.dtype) and not {*here} <= {*row_of(y)} for y in results(u)]
        if not any(lacks):
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
        n, own = len(u.src) - 1, [enter(UOp.arange(b.size), b) for b in brands]
        at = {b: x.param_like(n + k) for k, (b, x) in enumerate(zip(brands, own, strict=True))}
        outs = list(u.src[0].src)
        for i, row in enumerate(more):
            for b in row:
                outs[i] = (at[b] >= 0).where(outs[i], outs[i].const_like(0))
        new, rows_of_all = copy(self), [()] * (n + len(own))
        new.examples = Examples(rows_of_all, self.examples.results, self.examples.scope)
        return u.replace(src=(UOp.maketuple(*outs), *u.src[1:], *own), arg=CallInfo(name=u.arg.name, aux=new))

    def check_rows(self, u: UOp, xs: Sequence[UOp], asked: Set[int], closed: Row) -> None:
        """Refuse a result that all examples share, and whose derivative differs from example to example."""
        over = tuple(dict.fromkeys((*self.examples.brands, *visible(closed))))
        if all({*over} <= {*self.examples.results[i]} for i in asked):
            return
        for i, row in enumerate(self.rows_of_rule(u, xs)):
            if i in asked and (more := [b for b in row if b in over and b not in self.examples.results[i]]):
                names = ", ".join(f"`{b.name}`" for b in more)
                raise DerivativeError(
                    f"{self.f.what}: the rule of {self.f.name} gives a derivative by what a result does not use",
                    ("result", f"{tree.paths(self.out, 'the result')[i]}, the same for all examples of {names}"),
                    ("derivative", "differs from example to example"),
                    fix="let the function use for this result what its rule uses, as in `y + 0 * x`",
                )


def row_by(d: UOp, seeds: Sequence[UOp]) -> Row | None:
    """What the part of `d` varies over that it has of the seeds, and not of a zero times something; None without."""
    try:
        (t,) = push([d], {seed: seed.src[0] for seed in seeds})
    except BrandedError:  # what has no tangent may vary over all that is in it
        return row_of(d)
    return None if t is None else row_of(t)
