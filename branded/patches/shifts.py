"""A shift by 32 bits or more is one of an int of 64 bits.

tinygrad works ints of 64 bits out as ints of 32 where all of them fit, also where they are shifted by more bits than
are left then, which C leaves undefined: `x.cast("int64") >> 32` of a bool gave what stood in a register.
"""

from __future__ import annotations

from tinygrad.dtype import DType
from tinygrad.uop.ops import Ops, UOp


def install() -> None:
    original = UOp.overflows

    def overflows(self: UOp, dtype: DType) -> bool:
        too_far = self.op in (Ops.SHL, Ops.SHR) and self.src[1].vmax >= dtype.bitsize
        return bool(too_far or original(self, dtype))

    setattr(UOp, "overflows", overflows)  # noqa: B010  mypy: a method
