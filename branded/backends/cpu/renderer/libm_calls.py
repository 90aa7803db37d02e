"""Float32 operations that CPU kernels call as C functions, which clang vectorizes.

tinygrad expands an exponential or a sine into some thirty operations per element of a tile, with a select for each
kind of input.  Here it stays one operation until the kernel is rendered, where it becomes a function call.

The processes in which tinygrad compiles install these modules too; see `loops`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat

from branded.backends.cpu.renderer.loops import cpu_codegen
from branded.tinygrad_compat import private_api

_KNOWN = (Ops.EXP2, Ops.LOG2, Ops.SIN, Ops.SQRT)


def _is_ours(ctx: Any, u: UOp) -> bool:
    for_c = type(ctx) is private_api.cstyle.ClangRenderer and cpu_codegen.value
    return bool(for_c and u.dtype == dtypes.float32 and u.max_numel() == 1)


Call = Callable[[UOp, Callable[[UOp], str]], str]
_CALLS: dict[Ops, Call] = {}
_BY_TINYGRAD: dict[Ops, PatternMatcher] = {}
"""The texts of our operations, and tinygrad's expansions of them: its matcher takes no closures for rules."""


def _expand_others(ctx: Any, u: UOp) -> UOp | None:
    """Expand as tinygrad does, except our operations, which remain until they are rendered as C."""
    if type(ctx) is not private_api.cstyle.ClangRenderer or _is_ours(ctx, u):
        return None
    out: UOp | None = _BY_TINYGRAD[u.op].rewrite(u, ctx)
    return out


def _render_call(ctx: Any, u: UOp) -> str:
    return _CALLS[u.op](u.src[0], ctx.__getitem__)


def install(op: Ops, source: Callable[[], str], call: Call) -> None:
    """Render `op` by `call`, after the functions in `source`.

    `call` receives the operand and a function that returns the text of a value.
    """
    clang = private_api.cstyle.ClangRenderer
    original = private_api.codegen.get_transcendental_patterns
    _CALLS[op] = call
    _BY_TINYGRAD[op] = original(tuple(x for x in _KNOWN if x is not op), False)
    others = PatternMatcher([(UPat(op, name="u"), _expand_others)])

    @functools.cache
    def get_transcendental_patterns(ops: tuple[Ops, ...], force_transcendental: bool) -> PatternMatcher:
        patterns: PatternMatcher = original(ops, force_transcendental)
        return patterns if force_transcendental else patterns + others

    private_api.codegen.get_transcendental_patterns = get_transcendental_patterns
    clang.code_for_op = {**clang.code_for_op, op: lambda x, dtype: x}  # tinygrad checks that the key exists
    clang.string_rewrite = PatternMatcher([(UPat(op, name="u"), _render_call)]) + clang.string_rewrite
    plain: Callable[..., str] = clang.render

    @functools.wraps(plain)
    def render(self: Any, uops: list[UOp]) -> str:
        text = plain(self, uops)
        return f"{source()}\n{text}" if any(u.op is op and _is_ours(self, u) for u in uops) else text

    clang.render = render
