"""Replace the numbers in a loop's step by parameters, so that loops that differ only in numbers share a program."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from tinygrad import dtypes
from tinygrad.dtype import DType
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.control_flow.loop_primitive import Loop
from branded.core.tracing.body import LeafType
from branded.graph.uops import replace_ops

_TAKES_NUMBERS = {Ops.ADD, Ops.MUL, Ops.MAX, Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ, Ops.WHERE}
"""Operations that are as fast with a number in memory as with a literal, unlike integer division and shifts."""

QUARTER = math.pi / 2
"""The number π/2 stays in the step, because it identifies a cosine, sin(π/2 - x)."""


def without_numbers(loop: Loop) -> tuple[list[UOp], dict[DType, dict[UOp, float]]]:
    """Return the step with parameters instead of numbers, and their values by the dtype in which they are stored.

    Only operands of arithmetic on step-dependent values are lifted. Sizes, positions, and the numbers that tinygrad
    simplifies (0, 1 and -1) stay in the step.
    """
    varies, numbers = set[UOp](), dict[DType, dict[UOp, float]]()
    count = itertools.count(1 << 16)

    def hoist(s: UOp) -> UOp:
        if s in varies or not (s.op is Ops.CONST or _is_number(s)):
            return s
        value: UOp = s.simplify()  # type: ignore[no-untyped-call]
        stored = LeafType((), s.dtype, loop.device, ()).stored
        if value.op is not Ops.CONST or not isinstance(x := value.arg, int | float) or isinstance(x, bool):
            return s
        if x in (0, 1, -1, QUARTER) or not math.isfinite(x) or stored.fmt is None or not _fits(x, stored):
            return s
        p = UOp.param(next(count), stored, (), loop.device)
        numbers.setdefault(stored, {})[p] = x
        out: UOp = p.cast(s.dtype)
        return out

    def new(u: UOp) -> UOp | None:
        if u.op is not Ops.PARAM and varies.isdisjoint(u.src):
            return None
        varies.add(u)
        if u.op is Ops.POW and (power := _power(u, hoist)) is not None:
            varies.update(power.backward_slice_with_self)
            return power
        if u.op not in _TAKES_NUMBERS or (src := tuple(map(hoist, u.src))) == u.src:
            return None
        varies.add(v := u.replace(src=src))
        return v

    return replace_ops(loop.step.src, new), numbers


def _power(u: UOp, hoist: Callable[[UOp], UOp]) -> UOp | None:
    """Rewrite a power with a constant base or exponent as tinygrad computes it: the constant scales an exponent of 2.

    Return None for a whole or half exponent, which needs only a few products and a root. Also return None for a
    constant base that is not positive.
    """
    base, exponent = u.src
    if not dtypes.is_float(u.dtype):
        return None
    if (a := _literal_value(base)) is not None and a > 0 and a != 1:
        return (exponent * hoist(base.const_like(math.log2(a)))).exp2()
    if (e := _literal_value(exponent)) is None or not math.isfinite(e) or (2 * e).is_integer():
        return None
    base = base if e > 0 else base.reciprocal()
    size = ((base < 0).where(-base, base).log2() * hoist(exponent.const_like(abs(e)))).exp2()
    of_negative = base.ne(-math.inf).where(size.const_like(math.nan), size)
    out: UOp = (base < 0).where(of_negative, size)
    return out


def _literal_value(s: UOp) -> float | None:
    if not (s.op is Ops.CONST or _is_number(s)):
        return None
    value: UOp = s.simplify()  # type: ignore[no-untyped-call]
    return float(value.arg) if value.op is Ops.CONST and isinstance(value.arg, int | float) else None


def _is_number(s: UOp) -> bool:
    return s.op in GroupOp.Elementwise and all(x.op is Ops.CONST or _is_number(x) for x in s.src)


def _fits(x: float, dtype: DType) -> bool:
    return not dtypes.is_int(dtype) or bool(dtype.min <= x <= dtype.max)
