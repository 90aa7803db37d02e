"""Slices with batched bounds, and in-place operators that write a batched value into an unbatched tensor."""

from __future__ import annotations

from collections.abc import Iterator

from mypy.nodes import Expression, OperatorAssignmentStmt, SliceExpr, TupleExpr
from mypy.plugin import MethodContext, MethodSigContext
from mypy.types import AnyType, CallableType, Type, TypeOfAny

from branded.mypy.analysis.reads import known_brands, reject_batched
from branded.mypy.codes import SHAPE, WRITE
from branded.mypy.rows.algebra import AXES, TENSOR, VEC
from branded.mypy.rows.brand_env import checker, show, trying
from branded.mypy.rows.operands import method_signature

INDEXED = {f"{c}.__getitem__" for c in (VEC, AXES, TENSOR)}
IN_PLACE = {
    f"{c}.__i{op}__"
    for c in (VEC, AXES, TENSOR)
    for op in ("add", "sub", "mul", "truediv", "floordiv", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
}
"""The operators that write into a tensor."""


def index_signature(ctx: MethodSigContext) -> CallableType:
    """Reject batched slice bounds; type `x[a]` from its operands."""
    api = checker(ctx)
    for bound in _slice_bounds(ctx.args[0][0]) if ctx.args and ctx.args[0] else ():
        with trying(api):
            t = api.get_expression_type(bound)
        if known_brands(t):
            says = "slice: a bound that varies over {} would give each example a size of its own"
            reject_batched(
                api, ctx.context, t, SHAPE, says, "x[start + Tensor.arange(n)] for n entries, or a mask and where"
            )
            sig = ctx.default_signature
            return sig.copy_modified(arg_types=[AnyType(TypeOfAny.from_error)] * len(sig.arg_types))
    return method_signature(ctx)


def _slice_bounds(e: Expression) -> Iterator[Expression]:
    if isinstance(e, TupleExpr):
        for item in e.items:
            yield from _slice_bounds(item)
    elif isinstance(e, SliceExpr):
        yield from (bound for bound in (e.begin_index, e.end_index, e.stride) if bound is not None)


def reject_in_place(ctx: MethodContext) -> Type:
    """Reject `w += x` if `w` lacks a brand of `x`: tinygrad writes into `w`."""
    before, after = known_brands(ctx.type), known_brands(ctx.default_return_type)
    if not isinstance(ctx.context, OperatorAssignmentStmt) or all(b in before for b in after):
        return ctx.default_return_type
    name, sign = getattr(ctx.context.lvalue, "name", "w"), ctx.context.op
    wanted = show(ctx.default_return_type, checker(ctx))
    says = f"{sign}=: a value that varies over {{}} cannot go into `{name}`, which varies over less"
    fix = f"{name} = {name} {sign} ..., and where it is first given `{name}: {wanted} = ...`"
    reject_batched(checker(ctx), ctx.context, ctx.default_return_type, WRITE, says, fix)
    return ctx.type
