"""What needs one value: reads, truth, len."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

from mypy.checker import TypeChecker
from mypy.nodes import Context, FuncDef
from mypy.plugin import ClassDefContext, FunctionContext, FunctionSigContext, MethodContext
from mypy.types import (
    AnyType,
    CallableType,
    Type,
    TypeOfAny,
    UnboundType,
)

from branded.mypy.opening import fail, opened_at, show
from branded.mypy.rows import VEC, row_of

READS = tuple(
    f"{VEC}.{name}"
    for name in ("numpy", "data", "tolist", "item", "realize", "callify", "linear_with_vars", "schedule_linear")
)
COMPARISONS = tuple(f"{VEC}.__{op}__" for op in ("lt", "le", "gt", "ge", "eq", "ne"))


def _refuse(api: TypeChecker, at: Context, t: Type, message: str, fix: str) -> None:
    opened = [f"{show(b, api)}: opened by vmap at {place}" for b in row_of(t) or [] if (place := opened_at(b))]
    names = " and ".join(f'"{show(b, api)}"' for b in row_of(t) or [])
    fail(api, at, message.format(names), f'value: "{show(t, api)}"', *opened, f"try:   {fix}")


# ---- reads ----


def open_reads(ctx: ClassDefContext) -> None:
    """Let mypy find `numpy` and its like on every Vec, so that `read` can say in the user's words what is wrong.

    In vec.pyi they are declared for the empty row alone, which checkers without the plugin need.
    """
    for f in ctx.cls.defs.body:
        if isinstance(f, FuncDef) and f"{VEC}.{f.name}" in READS:
            for signature in (f.type, f.unanalyzed_type):
                if isinstance(signature, CallableType) and isinstance(signature.arg_types[0], UnboundType):
                    signature.arg_types[0] = AnyType(TypeOfAny.unannotated)


def read(ctx: MethodContext) -> Type:
    """`x.numpy()`"""
    if row_of(ctx.type):
        name = getattr(getattr(ctx.context, "callee", None), "name", "read")
        _refuse(
            _checker(ctx),
            ctx.context,
            ctx.type,
            f"{name}: a value that varies over {{}} has no single value to read",
            "return it from the mapped function and read the result",
        )
        return AnyType(TypeOfAny.from_error)
    return ctx.default_return_type


# ---- truth ----

_TRUTH = "bool: a value that varies over {} has no single truth value", "x.where(a, b) in place of `if x`"


def truth(ctx: FunctionContext) -> Type:
    """`bool(x)`"""
    if ctx.arg_types and ctx.arg_types[0] and row_of(ctx.arg_types[0][0]):
        _refuse(_checker(ctx), ctx.context, ctx.arg_types[0][0], *_TRUTH)
    return ctx.default_return_type


def comparison(ctx: MethodContext) -> Type:
    """`if a > 0: ...`, where mypy's truthy-bool does not look."""
    api, at = _checker(ctx), ctx.context
    if row_of(ctx.default_return_type) and (at.line, at.column) in _asked(api.path, _version(api.path)):
        _refuse(api, at, ctx.default_return_type, *_TRUTH)
    return ctx.default_return_type


def _version(path: str) -> int:
    return Path(path).stat().st_mtime_ns if Path(path).exists() else 0


@lru_cache(maxsize=8)
def _asked(path: str, version: int) -> set[tuple[int, int]]:
    """Where a file asks for the truth of a comparison."""
    tests: list[ast.expr] = []
    if not version:
        return set()
    for node in ast.walk(ast.parse(Path(path).read_bytes())):
        match node:
            case ast.If(test=t) | ast.While(test=t) | ast.Assert(test=t) | ast.IfExp(test=t):
                tests.append(t)
            case ast.BoolOp(values=[*ts, _]) | ast.comprehension(ifs=ts):
                tests += ts
            case ast.Compare(ops=[_, _, *_]):  # 0 < a < 1 is an `and`
                tests.append(node)
    return {(t.lineno, t.col_offset) for t in tests if isinstance(t, ast.Compare)}


# ---- len ----


def length(ctx: FunctionSigContext) -> CallableType:
    """`len(x)` is that of an example; vec.pyi hides `__len__` from mypy, for the sake of truthy-bool."""
    sig = ctx.default_signature
    if ctx.args and ctx.args[0] and isinstance(ctx.api, TypeChecker):
        t = ctx.api.get_expression_type(ctx.args[0][0])
        if row_of(t):
            return sig.copy_modified(arg_types=[t])
    return sig


def _checker(ctx: FunctionContext | MethodContext) -> TypeChecker:
    assert isinstance(ctx.api, TypeChecker)
    return ctx.api
