"""The product of a bool over loops that it does not depend on is the bool.

tinygrad makes it a power, and of that a product with the number 1, which is no bool any more: for a `b` of bools,
`b.reshape(2, 1).expand(2, 4).all(1)` beside another bool raises "UOp verification failed", and in a `where` "cond must
be bool".
"""

from __future__ import annotations

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat

from branded.patches import tg


def _product(red: UOp) -> UOp | None:
    x, *loops = red.src
    if red.arg[0] is not Ops.MUL or red.dtype != dtypes.bool or x.dtype != dtypes.bool:
        return None
    used = [r for r in loops if r in x.ranges]
    if len(used) == len(loops):
        return None
    return red.replace(src=(x, *used)) if used else x


def install() -> None:
    mine = PatternMatcher([(UPat(Ops.REDUCE, name="red"), _product)])
    tg.codegen.pm_reduce_unparented = mine + tg.codegen.pm_reduce_unparented
    tg.rangeify.pm_reduce_simplify = mine + tg.rangeify.pm_reduce_simplify
