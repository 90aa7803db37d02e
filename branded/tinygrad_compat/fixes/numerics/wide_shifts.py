"""A fix for shifts by at least the number of bits of an int, where only the sign remains, and for shifts of a number.

C leaves such a shift undefined: `Tensor([100], dtype="uint8") >> 65` was 50. tinygrad also computes 64-bit ints as
32-bit ints if all values fit, even if they are shifted by more than 31 bits: `x.cast("int64") >> 32` of a bool
returned the content of a register. `1 << x` raised "UOp verification failed": the number had no dtype of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, strong_dtype
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.tensor_methods import inner_method, replace_method


def _render(ctx: Any, x: UOp) -> str | None:
    n, bits = x.src[1], x.dtype.bitsize
    if x.shape or 0 <= n.vmin <= n.vmax < bits:
        return None
    a, by = (ctx[s] for s in x.src)
    fits = f"(unsigned long)({by})<{bits}ul"
    if x.op is Ops.SHR and x.dtype in dtypes.sints:
        return f"({a}>>({fits}?{by}:{bits - 1}))"
    return f"({fits}?({ctx.render_dtype(x.dtype)}){ctx.code_for_op[x.op](a, by, x.dtype)}:0)"


def _shift(original: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def shift(self: Tensor, x: Any, reverse: bool = False) -> Tensor:
        other = self.ufix(x)
        left, by = (other, self) if reverse else (self, other)
        if left.uop.base.op is Ops.CONST and by.uop.base.op is not Ops.CONST:
            left = left.cast(strong_dtype(private_api.least_upper_dtype(left.dtype, by.dtype)))
        return original(left, by)

    return shift


def install() -> None:
    for name in ("lshift", "rshift"):
        method = inner_method(getattr(Tensor, name))
        replace_method(name, method, _shift(method))
    original = UOp.overflows

    def overflows(self: UOp, dtype: DType) -> bool:
        too_far = self.op in (Ops.SHL, Ops.SHR) and self.src[1].vmax >= dtype.bitsize
        return bool(too_far or original(self, dtype))

    setattr(UOp, "overflows", overflows)  # noqa: B010  mypy: a method
    shifted = UPat((Ops.SHL, Ops.SHR), dtype=dtypes.ints, name="x")
    private_api.render_first(PatternMatcher([(shifted, _render)]))
