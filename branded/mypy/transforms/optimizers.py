"""Optimizers and minimizers: updates and states have the brands of the gradients, the state and the hyperparameters."""

from __future__ import annotations

from collections.abc import Iterator

from mypy.checker import TypeChecker
from mypy.expandtype import expand_type_by_instance
from mypy.nodes import DictExpr, ListExpr
from mypy.plugin import FunctionContext, MethodContext
from mypy.types import CallableType, TupleType, Type, get_proper_type

from branded.mypy.rows.algebra import (
    TENSOR,
    UNKNOWN,
    VEC,
    Brand,
    add_brands,
    change,
    hides_brands,
    keep_row,
    rows_in,
    union_row,
)
from branded.mypy.rows.brand_env import OpenBrands
from branded.mypy.rows.callables import signatures_of
from branded.mypy.rows.reporting import checker
from branded.mypy.transforms.function_calls import Rule, TransformCall, unique_brands

MODULE = "branded.optim."
CALLS = {f"{MODULE}base.{name}.__call__" for name in ("InitFn", "UpdateFn")}


def optimizer_result(ctx: FunctionContext | MethodContext, scope: OpenBrands) -> Type:
    """Return the result of `adam(rate)`, `update(grads, state)` or `apply_updates(params, updates)`.

    It has the brands of all arguments, and of the optimizer that is called. A schedule made from a batched number
    returns a batched number. mypy infers the type of a list in the context of a parameter, which is Any.
    """
    api, given = checker(ctx), [t for types in ctx.arg_types for t in types]
    given += [api.get_expression_type(e) for es in ctx.args for e in es if isinstance(e, ListExpr | DictExpr)]
    given += [ctx.type] if isinstance(ctx, MethodContext) else []
    rows = list(dict.fromkeys(b for t in given for b in _brands_of(t, api)))
    result = get_proper_type(ctx.default_return_type)
    if isinstance(result, CallableType) and rows and hides_brands(result.ret_type):
        return result.copy_modified(ret_type=scope.instance(VEC, union_row(rows), scope.instance(TENSOR)))
    return add_brands(result, rows)


def _brands_of(t: Type, api: TypeChecker) -> Iterator[Brand]:
    """Find the brands of an argument; for a schedule, the brands of its result."""
    yield from rows_in(t)
    for f in signatures_of(t, api) if not rows_in(t) else ():
        yield from rows_in(f.ret_type)


def minimize(call: TransformCall) -> Type:
    """Return the type of `minimize(fun, x0, args)`: each example has a solution and a number of steps."""
    return _solution(call, f"{MODULE}minimize.OptimizeResults")


def root(call: TransformCall) -> Type:
    """Return the type of `root(fun, x0, args)` or `fixed_point(fun, x0, args)`."""
    return _solution(call, f"{MODULE}implicit.RootResults")


def _solution(call: TransformCall, result: str) -> Type:
    f, x, args = call.expression("fun"), call.tensors(call.type_of("x0")), get_proper_type(call.type_of("args"))
    given = args.items if isinstance(args, TupleType) else []
    out = call.step(f, [x, *given]) if f is not None and (given or call.expression("args") is None) else UNKNOWN
    rows = list(dict.fromkeys(b for t in (x, *given, out) for b in unique_brands(t)))
    instance = call.scope.instance(result, add_brands(x, rows), union_row(rows))
    assert instance.type.tuple_type is not None
    solution = expand_type_by_instance(instance.type.tuple_type.copy_modified(fallback=instance), instance)
    return change(solution, keep_row)


SOLVERS: dict[str, Rule] = {
    f"{MODULE}minimize.minimize": minimize,
    f"{MODULE}implicit.root": root,
    f"{MODULE}implicit.fixed_point": root,
}
