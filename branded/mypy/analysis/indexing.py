"""Slices with batched bounds, and in-place operators that write a batched value into an unbatched tensor."""

from __future__ import annotations

from collections.abc import Iterator

from mypy.checker import TypeChecker
from mypy.nodes import (
    ComparisonExpr,
    Expression,
    NameExpr,
    OperatorAssignmentStmt,
    OpExpr,
    SliceExpr,
    TupleExpr,
    UnaryExpr,
)
from mypy.plugin import MethodContext, MethodSigContext
from mypy.types import AnyType, CallableType, Type, TypeOfAny

from branded.mypy.analysis.reads import known_brands, reject_batched
from branded.mypy.analysis.untyped_modules import assigned_to
from branded.mypy.codes import SHAPE, WRITE
from branded.mypy.rows.algebra import AXES, TENSOR, VEC, change, hides_brands, keep_row, row_of
from branded.mypy.rows.operands import method_signature
from branded.mypy.rows.reporting import checker, show, trying

INDEXED = {f"{c}.__getitem__" for c in (VEC, AXES, TENSOR)}
WRITTEN = {f"{c}.__setitem__" for c in (VEC, AXES, TENSOR)}
IN_PLACE = {
    f"{c}.__i{op}__"
    for c in (VEC, AXES, TENSOR)
    for op in ("add", "sub", "mul", "truediv", "floordiv", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
}
"""The operators that write into a tensor."""


def index_signature(ctx: MethodSigContext) -> CallableType:
    """Reject batched slice bounds and masks; type `x[a]` from its operands."""
    api = checker(ctx)
    for bound in _slice_bounds(ctx.args[0][0]) if ctx.args and ctx.args[0] else ():
        with trying(api):
            t = api.get_expression_type(bound)
        if known_brands(t):
            says = "slice: a bound that varies over {} would give each example another size"
            reject_batched(
                api, ctx.context, t, SHAPE, says, "x[start + Tensor.arange(n)] for n entries, or a mask and where"
            )
            sig = ctx.default_signature
            return sig.copy_modified(arg_types=[AnyType(TypeOfAny.from_error)] * len(sig.arg_types))
    _reject_mask(ctx, "index", "mask.where(x, 0), or masked_select(mask, size=n)")
    sig = method_signature(ctx)
    with trying(api):
        is_known = not any(hides_brands(api.get_expression_type(e)) for es in ctx.args for e in es)
    # the types of `slice(0, 1)` are int or Any, for which mypy chooses no overload unless all have the same result
    return sig.copy_modified(ret_type=change(sig.ret_type, keep_row)) if is_known else sig


def reject_mask_write(ctx: MethodContext) -> Type:
    """Reject `x[x > 0] = 0` of a batched value."""
    _reject_mask(ctx, "assign", "x = mask.where(value, x)")
    return ctx.default_return_type


def _reject_mask(ctx: MethodContext | MethodSigContext, what: str, fix: str) -> None:
    """Reject a comparison as the index, or in it, if the value or the mask is batched."""
    index, api = ctx.args[0][0] if ctx.args and ctx.args[0] else None, checker(ctx)
    mask = next((e for e in (index.items if isinstance(index, TupleExpr) else [index]) if _is_mask(e, api)), None)
    if mask is not None:
        with trying(api):
            t = api.get_expression_type(mask)
        batched = next(filter(known_brands, (t, ctx.type)), None) if row_of(t) is not None else None
        if batched is not None:
            says = f"{what}: a mask over {{}} would choose another number of entries for each example"
            reject_batched(api, ctx.context, batched, SHAPE, says, fix)


def _is_mask(e: Expression | None, api: TypeChecker) -> bool:
    """Return whether an expression is a comparison, or a variable of one: `x > 0`, `~(x > 0)`, `mask & (x < 1)`."""
    match e:
        case ComparisonExpr():
            return True
        case UnaryExpr(op="~"):
            return _is_mask(e.expr, api)
        case OpExpr(op="&" | "|" | "^"):
            return _is_mask(e.left, api) or _is_mask(e.right, api)
        case NameExpr() if not isinstance(value := assigned_to(e.node, api), NameExpr):
            return _is_mask(value, api)
    return False


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
    says = f"{sign}=: a value that varies over {{}} cannot be written into `{name}`, which varies over less"
    fix = f"{name} = {name} {sign} ..., and declare `{name}: {wanted} = ...` first"
    reject_batched(checker(ctx), ctx.context, ctx.default_return_type, WRITE, says, fix)
    return ctx.type
