"""The product of a bool over loops that it does not depend on is the bool.

tinygrad makes it a power, and of that a product with the number 1, which is no bool any more: for a `b` of bools,
`b.reshape(2, 1).expand(2, 4).all(1)` beside another bool raises "UOp verification failed", and in a `where` "cond must
be bool".
"""

from __future__ import annotations

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat

from branded.tinygrad_compat import private_api


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
    private_api.codegen.pm_reduce_unparented = mine + private_api.codegen.pm_reduce_unparented
    private_api.rangeify.pm_reduce_simplify = mine + private_api.rangeify.pm_reduce_simplify
