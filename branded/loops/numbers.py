"""The numbers of a step, which are taken out of it: loops that differ in numbers alone are compiled once."""

from __future__ import annotations

import itertools
import math

from tinygrad import dtypes
from tinygrad.dtype import DType
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.graph import replaced
from branded.loops.primitive import Loop
from branded.loops.trace import LeafType

_TAKES_NUMBERS = {Ops.ADD, Ops.MUL, Ops.MAX, Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ, Ops.WHERE}
"""Where a number is as fast from memory as in the code: not in a division of ints, a power or a shift."""


def without_numbers(loop: Loop) -> tuple[list[UOp], dict[DType, dict[UOp, float]]]:
    """The step with parameters in place of numbers, and these with the numbers, by the dtype in which they are stored.

    Only operands of arithmetic on what varies from step to step are taken out: sizes and positions, and what tinygrad
    would leave out (0, 1 and -1), are a part of the step.
    """
    varies, found = set[UOp](), dict[DType, dict[UOp, float]]()
    count = itertools.count(1 << 16)

    def taken(s: UOp) -> UOp:
        if s in varies or not (s.op is Ops.CONST or _is_number(s)):
            return s
        value: UOp = s.simplify()  # type: ignore[no-untyped-call]
        stored = LeafType((), s.dtype, loop.device, ()).stored
        if value.op is not Ops.CONST or not isinstance(x := value.arg, int | float) or isinstance(x, bool):
            return s
        if x in (0, 1, -1) or not math.isfinite(x) or stored.fmt is None or not _fits(x, stored):
            return s
        p = UOp.param(next(count), stored, (), loop.device)
        found.setdefault(stored, {})[p] = x
        out: UOp = p.cast(s.dtype)
        return out

    def new(u: UOp) -> UOp | None:
        if u.op is not Ops.PARAM and varies.isdisjoint(u.src):
            return None
        varies.add(u)
        if u.op not in _TAKES_NUMBERS or (src := tuple(map(taken, u.src))) == u.src:
            return None
        varies.add(v := u.replace(src=src))
        return v

    return replaced(loop.step.src, new), found


def _is_number(s: UOp) -> bool:
    return s.op in GroupOp.Elementwise and all(x.op is Ops.CONST or _is_number(x) for x in s.src)


def _fits(x: float, dtype: DType) -> bool:
    return not dtypes.is_int(dtype) or bool(dtype.min <= x <= dtype.max)
