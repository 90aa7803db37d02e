"""Result types of calls: plain tensors for the empty row, and brands that are entered and left."""

from __future__ import annotations

from collections.abc import Callable

from mypy.nodes import CallExpr, Expression, IndexExpr, LambdaExpr, MemberExpr, Node, RefExpr, StrExpr
from mypy.plugin import FunctionContext, MethodContext, MethodSigContext
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    NoneType,
    ProperType,
    Type,
    TypeVarType,
    get_proper_type,
)

from branded.mypy.analysis.source.reads import report_lift_reads
from branded.mypy.analysis.untyped_modules import is_untyped_function
from branded.mypy.axes.mapped_axis import Mapped
from branded.mypy.codes import is_brand_code
from branded.mypy.rows.algebra import (
    BRAND,
    UNKNOWN,
    Brand,
    Change,
    add_brands,
    change,
    drop_brands,
    hides_brands,
    holds_tensors,
    is_a,
    keep_row,
    row_of,
    rows_in,
)
from branded.mypy.rows.brand_env import OpenBrands
from branded.mypy.rows.callables import Arg, overload_plain, synthetic_call
from branded.mypy.rows.reporting import add_errors, checker, trying
from branded.mypy.transforms import in_axes


def plain_result(ctx: FunctionContext | MethodContext) -> Type:
    """Return a plain Tensor for a result whose row is empty."""
    return change(ctx.default_return_type, keep_row)


def module_result(ctx: FunctionContext) -> Type:
    """Return the type of `functional_call(net, state, x)`: that of `net(x)`, with the brands of the state."""
    t = plain_result(ctx)
    if not all(ctx.arg_types[:2]):
        return t
    brands = rows_in(ctx.arg_types[1][0])
    if not (brands or isinstance(get_proper_type(t), AnyType)) or any("mutable" in names for names in ctx.arg_names):
        return t
    given = zip(ctx.arg_types[2:], ctx.arg_kinds[2:], ctx.arg_names[2:], strict=True)
    args = [Arg(add_brands(t, brands), k, n) for group in given for t, k, n in zip(*group, strict=True)]
    call = synthetic_call(ctx.args[0][0], [a.type for a in args], args, ctx.context)
    with trying(api := checker(ctx)) as errors:
        result = api.get_expression_type(call)
    found = errors.filtered_errors()
    if all(is_brand_code(e.code) for e in found):  # in the body of the module
        add_errors(api, found)
        return change(add_brands(result, brands), keep_row)
    return t


def jit_type(ctx: FunctionContext) -> Type:
    """Return the type of `TinyJit(f)`, which runs outside every vmap: its results have no row."""
    t = get_proper_type(ctx.default_return_type)
    if not isinstance(t, Instance):
        return t
    forget = drop_brands(lambda b: isinstance(b, AnyType))
    return t.copy_modified(args=[change(a, forget) for a in t.args])


def function_type(ctx: FunctionContext) -> Type:
    """Return the type of `f` for `function(f)`; tinygrad's annotation would make its rows Any."""
    f = get_proper_type(ctx.arg_types[0][0]) if ctx.arg_types[0] else None
    return f if isinstance(f, CallableType) and f.variables else ctx.default_return_type


def lift_type(ctx: FunctionContext, scope: OpenBrands) -> Type:
    """Return the type of `lift(f)`: each parameter with tensors has its own row, and the result has all rows."""
    f = get_proper_type(ctx.arg_types[0][0]) if ctx.arg_types and ctx.arg_types[0] else None
    if not isinstance(f, CallableType) or f.is_ellipsis_args or f.variables or isinstance(ctx.args[0][0], LambdaExpr):
        return ctx.default_return_type
    lifted, rows = _lift(f, ctx, scope)
    report_lift_reads(ctx.args[0][0], rows, ctx.context, checker(ctx))
    return lifted


def nameless_function(ctx: FunctionContext, scope: OpenBrands) -> Type:
    """Return the type of `power(2)` in `power(2)(x)`, as if it were lifted, in files that do not import `Vec`."""
    api, e = checker(ctx), ctx.args[0][0]
    t = get_proper_type(api.lookup_type(e))
    t = get_proper_type(t.upper_bound) if isinstance(t, TypeVarType) else t
    is_function = isinstance(t, CallableType) and not (t.is_ellipsis_args or t.variables or t.is_type_obj())
    if not is_function or not isinstance(t, CallableType) or rows_in(t) or not holds_tensors(t.ret_type):
        return t
    return _lift(t, ctx, scope)[0] if is_untyped_function(_origin(e), api) else t


def _origin(e: Expression) -> Node | None:
    """Return the function or the variable that an expression begins with: `OPS` for `OPS["add"]`."""
    match e:
        case CallExpr(callee=inner) | IndexExpr(base=inner) | MemberExpr(expr=inner, node=None):
            return _origin(inner)
    return e.node if isinstance(e, RefExpr) else None


def _lift(f: CallableType, ctx: FunctionContext, scope: OpenBrands) -> tuple[FunctionLike, list[ProperType]]:
    """Return a function whose parameters with tensors each have a row variable, and these variables."""
    place = f"{ctx.context.line}:{ctx.context.column}"
    rows: list[Type] = []
    types: list[Type] = []
    for i, (name, t) in enumerate(zip(f.arg_names, f.arg_types, strict=True)):
        if is_plain := holds_tensors(t) and not rows_in(t):
            rows.append(scope.fresh((name or "x").upper(), ctx.context, checker(ctx), place=f"{place}:{i}"))
        types.append(add_brands(t, rows[-1:]) if is_plain else t)
    lifted = f.copy_modified(arg_types=types, ret_type=add_brands(f.ret_type, rows), variables=rows)
    return overload_plain(lifted), [get_proper_type(v) for v in rows]


def brand_type(ctx: FunctionContext, scope: OpenBrands) -> Type:
    """Return the type of `with brand("users", 3) as users`, with a fresh brand."""
    api, t, name = checker(ctx), get_proper_type(ctx.default_return_type), ctx.args[0][0]
    inner = get_proper_type(t.args[0]) if isinstance(t, Instance) and t.args else None
    if not isinstance(t, Instance) or not isinstance(inner, Instance) or not is_a(inner.args[0], BRAND):
        return t
    # blocks with the same name may assign the same variable, so they share a brand here; at run time they have two
    text = name.value if isinstance(name, StrExpr) else None
    fresh = scope.fresh(text or "brand", ctx.context, api, place=text, named=text or "")
    return t.copy_modified(args=[inner.copy_modified(args=[fresh]), *t.args[1:]])


def vec_signature(ctx: MethodSigContext, scope: OpenBrands) -> FunctionLike:
    """Type `users.vec(x)`: add the brand to `x`, independent of the type context."""
    return _crossing_signature(
        ctx, lambda brand: lambda row: [*row, brand], lambda t, m, way: m.off(t, way, "x"), scope
    )


def unvec_signature(ctx: MethodSigContext, scope: OpenBrands) -> FunctionLike:
    """Type `users.unvec(x)`: remove the brand from `x`; mypy alone would join the other brands."""
    return _crossing_signature(
        ctx, lambda brand: drop_brands(lambda b: b == brand), lambda t, m, way: m.on(t, way), scope
    )


def _crossing_signature(
    ctx: MethodSigContext, to: Callable[[Brand], Change], axis: Callable[[Type, Mapped, Type], Type], scope: OpenBrands
) -> FunctionLike:
    sig, opened = ctx.default_signature, ctx.type
    brand = get_proper_type(opened.args[0]) if isinstance(opened, Instance) and opened.args else opened
    value = checker(ctx).get_expression_type(ctx.args[0][0]) if ctx.args and ctx.args[0] else NoneType()
    if row_of(value) is None or not sig.variables:
        return sig
    way = in_axes.tree_of(ctx.args[1][0] if len(ctx.args) > 1 and ctx.args[1] else None, checker(ctx))
    moved = axis(value, Mapped(ctx.context, checker(ctx), scope, brand), way)
    result = UNKNOWN if hides_brands(value) else change(moved, to(brand))
    return sig.copy_modified(arg_types=[value, *sig.arg_types[1:]], ret_type=result, variables=[])
