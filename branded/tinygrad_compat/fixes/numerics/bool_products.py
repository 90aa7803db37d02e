"""A fix for the product of a bool over loops on which it does not depend: the product is the bool.

tinygrad makes it a power, and the power a product with the number 1, which is not a bool. For bools `b`, using
`b.reshape(2, 1).expand(2, 4).all(1)` with another bool raises "UOp verification failed". In a `where` it raises "cond
must be bool".
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
