"""The numbers of a step, which are taken out of it: loops that differ in numbers alone are compiled once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from tinygrad import dtypes
from tinygrad.dtype import DType
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.control_flow.primitive import Loop
from branded.core.tracing.body import LeafType
from branded.graph.uops import replaced

_TAKES_NUMBERS = {Ops.ADD, Ops.MUL, Ops.MAX, Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ, Ops.WHERE}
"""Where a number is as fast from memory as in the code: not in a division of ints or a shift."""

QUARTER = math.pi / 2
"""By this a sine is known that is a cosine."""


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
        if x in (0, 1, -1, QUARTER) or not math.isfinite(x) or stored.fmt is None or not _fits(x, stored):
            return s
        p = UOp.param(next(count), stored, (), loop.device)
        found.setdefault(stored, {})[p] = x
        out: UOp = p.cast(s.dtype)
        return out

    def new(u: UOp) -> UOp | None:
        if u.op is not Ops.PARAM and varies.isdisjoint(u.src):
            return None
        varies.add(u)
        if u.op is Ops.POW and (power := _power(u, taken)) is not None:
            varies.update(power.backward_slice_with_self)
            return power
        if u.op not in _TAKES_NUMBERS or (src := tuple(map(taken, u.src))) == u.src:
            return None
        varies.add(v := u.replace(src=src))
        return v

    return replaced(loop.step.src, new), found


def _power(u: UOp, taken: Callable[[UOp], UOp]) -> UOp | None:
    """A power of or to a number, as tinygrad works it out, where the number is one factor of an exponent of 2.

    Not to a whole or half number, which is a few products and a root, nor of a number that is not above 0.
    """
    base, exponent = u.src
    if not dtypes.is_float(u.dtype):
        return None
    if (a := _value(base)) is not None and a > 0 and a != 1:
        return (exponent * taken(base.const_like(math.log2(a)))).exp2()
    if (e := _value(exponent)) is None or not math.isfinite(e) or (2 * e).is_integer():
        return None
    base = base if e > 0 else base.reciprocal()
    size = ((base < 0).where(-base, base).log2() * taken(exponent.const_like(abs(e)))).exp2()
    of_negative = base.ne(-math.inf).where(size.const_like(math.nan), size)
    out: UOp = (base < 0).where(of_negative, size)
    return out


def _value(s: UOp) -> float | None:
    if not (s.op is Ops.CONST or _is_number(s)):
        return None
    value: UOp = s.simplify()  # type: ignore[no-untyped-call]
    return float(value.arg) if value.op is Ops.CONST and isinstance(value.arg, int | float) else None


def _is_number(s: UOp) -> bool:
    return s.op in GroupOp.Elementwise and all(x.op is Ops.CONST or _is_number(x) for x in s.src)


def _fits(x: float, dtype: DType) -> bool:
    return not dtypes.is_int(dtype) or bool(dtype.min <= x <= dtype.max)
