"""A fix for the dtype of the alternative of a conditional load.

tinygrad turns `where(gate, load.cast(dtype), other)` into one load with `other` as its value if the gate is closed. It
converts `other` to the dtype of the load: for bools and ints, `b.cast("int32").cat(i)` returns 0 or 1 for all elements
of `i`.

A vector of loads whose gates are all closed has an index without values. tinygrad makes it a scalar, and the loads lose
their shape. For example, `ppermute` over two axes, of a value that varies over one of them, raises "bad reshape: () ->
(2, 3)". Here the index stays a vector until its loads are scalars.
"""

from __future__ import annotations

from typing import Any

from tinygrad.uop.ops import Ops, PatternMatcher, UOp

from branded.tinygrad_compat import private_api

_original: Any = private_api.gater.move_where_load


def _move_where_load(gate: UOp, l: UOp, a: UOp, w: UOp) -> UOp | None:  # noqa: E741  tinygrad passes it by name
    same = w.dtype == l.dtype or a.is_invalid or (a.op is Ops.CONST and a.val == 0)
    if not same and not (a.op is Ops.CAST and a.src[0].dtype == l.dtype):
        return None
    out: UOp = _original(gate, l, a, w)
    return out


def _makes_scalar(p: Any) -> bool:
    """Return whether the pattern is a vector without values, which its rule makes a scalar."""
    return p.op == (Ops.STACK,) and any("Invalid" in type(next(iter(x)).arg).__name__ for x in p.src)


def install() -> None:
    private_api.codegen.symbolic_simple = PatternMatcher(
        [(p, f) for p, f in private_api.codegen.symbolic_simple.patterns if not _makes_scalar(p)]
    )
    rules = private_api.gater.pm_move_gates_from_index.patterns
    private_api.codegen.pm_move_gates_from_index = PatternMatcher(
        [(p, _move_where_load if f is _original else f) for p, f in rules]
    )
