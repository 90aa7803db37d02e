"""A fix for copies of bfloat16 elements, which are kept as their 16 bits.

tinygrad converts bfloat16 to float32 by hand, but loads and stores elements as `__bf16`. On CPUs without bfloat16
instructions, clang may copy several of them through float32, for which it calls `__truncsfbf2` of a library that
kernels are not linked with: `x[:1].cat(x[:1] + x[2:])` raises "undefined symbol". tinygrad's OpenCL renderer keeps the
bits, too.
"""

from __future__ import annotations

from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import PatternMatcher, UOp, UPat

from branded.tinygrad_compat import private_api


def _render_constant(ctx: Any, c: UOp) -> str:
    return f"{private_api.to_storage_scalar(c.val, dtypes.bfloat16)}u"


def install() -> None:
    clang: Any = private_api.cstyle.ClangRenderer
    clang.type_map = {**clang.type_map, dtypes.bfloat16: "unsigned short"}
    rule = (UPat.cvar("c").cast(dtypes.bfloat16), _render_constant)
    clang.string_rewrite = PatternMatcher([rule]) + clang.string_rewrite
