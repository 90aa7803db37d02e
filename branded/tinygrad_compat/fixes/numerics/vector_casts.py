"""A fix for casts of computed vectors, which are converted like vectors in registers.

In C, a cast of a vector reinterprets its bytes. tinygrad writes `__builtin_convertvector` for vectors in registers, but
a plain cast for computed ones: `(float4){1, 1, 1, 1}`, or four doubles as floats, cast to four float16 do not compile.
"""

from __future__ import annotations

from typing import Any

from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.private_api import AddrSpace


def _render(ctx: Any, x: UOp) -> str | None:
    if x.max_numel() == 1 or x.addrspace in (AddrSpace.GLOBAL, AddrSpace.LOCAL):
        return None
    return f"__builtin_convertvector({ctx[x.src[0]]}, {ctx.render_type(x)})"


def install() -> None:
    clang: Any = private_api.cstyle.ClangRenderer
    clang.string_rewrite = PatternMatcher([(UPat(Ops.CAST, name="x"), _render)]) + clang.string_rewrite
