"""Reads of batched values in functions of other files, found in their source.

mypy does not always keep the bodies of other files, so they cannot be checked again. This analysis follows the batched
arguments through the source. It reports a read only if the value is certain to be a batched tensor. So it accepts a
function that uses its arguments in ways that it cannot follow.

    def scale(x: Tensor, k: float) -> Tensor:       x is batched: nothing reads it
        if x.ndim != 1 or k == 0: ...               `ndim` and `k` are the same for all examples
        return x / x.sum().item()                   a read, at this line
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mypy.checker import TypeChecker
from mypy.errorcodes import TRUTHY_BOOL, ErrorCode
from mypy.nodes import Context, Expression, FuncDef, LambdaExpr, MypyFile, Node, TypeInfo
from mypy.plugin import FunctionContext, MethodContext
from mypy.types import CallableType, NoneType, Type, get_proper_type

from branded.mypy.analysis.caches import new_cache
from branded.mypy.analysis.external_calls import BUILTINS, error_text, suggest_method
from branded.mypy.analysis.function_source import bound_count, local_names, without_decorator
from branded.mypy.analysis.memoize import type_of_call
from branded.mypy.analysis.reads import METHODS, READ_TEXT, TEXTS, reject_brands
from branded.mypy.analysis.source.effects import Effects, Read
from branded.mypy.analysis.source.syntax import children
from branded.mypy.analysis.source_digest import Kept, file_version, keep, parse, use
from branded.mypy.analysis.untyped_modules import container_of, definition_of
from branded.mypy.codes import ESCAPE, READ
from branded.mypy.late_modules import LateModule
from branded.mypy.rows.algebra import TENSOR, UNKNOWN, VEC, Brand, add_brands, is_unbatched
from branded.mypy.rows.batch_kinds import BatchKind, kind_of
from branded.mypy.rows.brand_env import OpenBrands
from branded.mypy.rows.callables import Arg, synthetic_call
from branded.mypy.rows.reporting import checker, fail_at_once, trying

if TYPE_CHECKING:
    from branded.mypy.analysis.source import body, finder
else:
    body, finder = (LateModule(f"branded.mypy.analysis.source.{name}") for name in ("body", "finder"))


def reads_in(
    f: FuncDef,
    sig: CallableType,
    types: Sequence[Type],
    owner: TypeInfo | None,
    api: TypeChecker,
    is_traced: bool = False,
) -> list[Read]:
    """Return where a call of a function reads a batched value, from the called function to the read.

    Args:
        f: The called function.
        sig: Its signature as it is called: without `self`.
        types: The types of the parameters of `sig`, with the brands of the arguments.
        owner: The class of the method's object, if it is known.
        api: The type checker.
        is_traced: Whether a transform traces the function; then functions with annotations for one example are
            followed too.

    Returns:
        The read, after the calls that lead to it; empty if nothing certainly reads a value.
    """
    return effects_of(f, sig, types, owner, api, is_traced).reads


def effects_of(
    f: FuncDef,
    sig: CallableType,
    types: Sequence[Type],
    owner: TypeInfo | None,
    api: TypeChecker,
    is_traced: bool = False,
) -> Effects:
    """Return the effects of a call with batched values, with the parameters of `reads_in`."""
    kinds = {n: kind_of(t) for n, t in zip(sig.arg_names, types, strict=True) if n is not None}
    try:
        return finder.ReadFinder(api, is_traced).call(f, kinds, owner)[1]
    except RecursionError:
        return Effects([], {})


def reads_in_lambda(f: LambdaExpr, types: Sequence[Type], api: TypeChecker) -> list[Read]:
    """Return where a lambda reads a batched value in objects that it makes; mypy checks the other reads."""
    source, outer_names = _lambda_at(f.line, f.column, parse(api.path, file_version(api.path)))
    if source is None:
        return []
    names = [a.arg for a in (*source.args.posonlyargs, *source.args.args)]
    env = {**dict.fromkeys(outer_names, BatchKind.PLAIN), **dict(zip(names, map(kind_of, types), strict=False))}
    found = finder.ReadFinder(api, is_traced=False)
    try:
        body.FunctionBody(found, FuncDef("<lambda>"), None, api.tree, env).value(source.body)
    except RecursionError:
        return []
    return found.found


_LEAVES = ast.Name | ast.Constant | ast.alias


def _lambda_at(line: int, column: int, tree: ast.AST | None) -> tuple[ast.Lambda | None, frozenset[str]]:
    """Return the lambda at a position, with the names that the functions around it bind."""
    rest = [(tree, frozenset[str]())] if tree is not None else []
    while rest:
        node, names = rest.pop()
        if isinstance(node, ast.FunctionDef):
            names = names.union(local_names(node), [node.name])
        elif isinstance(node, ast.Lambda) and (node.lineno, node.col_offset) == (line, column):
            return node, names
        rest += [(child, names) for child in children(node) if _has_line(child, line)]
    return None, frozenset()


def _has_line(node: ast.AST, line: int) -> bool:
    """Return whether a line may be in a node; the decorators of a function are above its first line."""
    if isinstance(node, _LEAVES):
        return False
    is_above = line < getattr(node, "lineno", 0) and not getattr(node, "decorator_list", ())
    return not is_above and line <= (getattr(node, "end_lineno", None) or line)


def certain_reads(f: Node | None, api: TypeChecker, is_traced: bool = False) -> list[Read]:
    """Return where a function reads a value if its plain tensors are batched; empty for other nodes."""
    f = without_decorator(f, api)
    if not isinstance(f, FuncDef) or not isinstance(f.type, CallableType):
        return []
    sig = f.type.copy_modified(
        arg_types=f.type.arg_types[(n := bound_count(f)) :],
        arg_kinds=f.type.arg_kinds[n:],
        arg_names=f.type.arg_names[n:],
    )
    key = f, is_traced
    if key not in _certain:
        types = [add_brands(t, [UNKNOWN]) if is_unbatched(t) else NoneType() for t in sig.arg_types]
        _certain[key] = keep(lambda: reads_in(f, sig, types, f.info or None, api, is_traced))
    return use(_certain[key], api)


_certain: dict[tuple[FuncDef, bool], Kept[list[Read]]] = new_cache()


def report_read(reads: Sequence[Read], brands: Sequence[Brand], context: Context, api: TypeChecker) -> None:
    """Report a read in the source of a function, with the calls that lead to it."""
    if _is_told(reads[-1], context, api):
        return
    code, says, fix = _read_text(reads[-1].what)
    context, facts = _place_and_facts(reads, context, api)
    reject_brands(api, context, brands, code, f"{reads[-1].what}: {says}", facts, fix)


_told: dict[tuple[MypyFile, int, Read], int] = new_cache()
"""The lines with an error about a place in the source of a function, and the column of the call that has the error."""


def _is_told(place: Read, context: Context, api: TypeChecker) -> bool:
    """Return whether another call in this line has an error about the same place: it is one mistake."""
    return _told.setdefault((api.tree, context.line, place), context.column) != context.column


def report_stored(places: Sequence[Read], brands: Sequence[Brand], context: Context, api: TypeChecker) -> None:
    """Report a batched value that a function of another file stores, with the calls that lead to it."""
    *calls, place = places
    if _is_told(place, context, api):
        return
    facts = [*(f"calls: {c}" for c in calls), f"keeps: {place}"]
    message = "escape: a value that varies over {} is kept where it outlives the call"
    reject_brands(api, context, brands, ESCAPE, message, facts, "return it from the mapped function")


def report_traced_read(f: Expression, what: str, uses: str, context: Context, api: TypeChecker) -> None:
    """Report a read in a function that the transform `what` traces once for all of its `uses`."""
    reads = certain_reads(_function_at(f, api), api, is_traced=True)
    if not reads:
        return
    says = f"in the body of {what} there is no value to read: it is traced once, for all {uses}"
    context, facts = _place_and_facts(reads, context, api)
    fail_at_once(api, context, READ, f"{reads[-1].what}: {says}", *facts, _INSTEAD_OF_IF)


_INSTEAD_OF_IF = (
    "try:   use cond, where or while_loop instead of `if` and `while`, or return the value and read it outside"
)


def report_jit_reads(ctx: FunctionContext | MethodContext, scope: OpenBrands) -> Type:
    """Report the reads in `f` for `jit(f)`."""
    api = checker(ctx)
    if not ctx.args or not ctx.args[0]:
        return ctx.default_return_type
    if isinstance(e := ctx.args[0][0], LambdaExpr) and not any(ctx.args[1:]):
        api.expr_checker.type_overrides.pop(e, None)  # its body is checked at each call
        brand = scope.fresh("jit", ctx.context, api)
        vec = scope.instance(VEC, brand, scope.instance(TENSOR))
        call = synthetic_call(e, [vec] * len(e.arg_names), [Arg(vec)] * len(e.arg_names), ctx.context)
        with trying(api) as errors, scope.opened(brand):
            type_of_call(call, api)
        api.msg.add_errors([e for e in errors.filtered_errors() if e.code in (READ, TRUTHY_BOOL)])
    else:
        report_traced_read(ctx.args[0][0], "jit", "calls", ctx.context, api)
    return ctx.default_return_type


def report_lift_reads(f: Expression, rows: Sequence[Brand], context: Context, api: TypeChecker) -> None:
    """Report the reads in `f` for `lift(f)`."""
    if rows and (reads := certain_reads(_function_at(f, api), api, is_traced=True)):
        report_read(reads, rows, context, api)


def _function_at(e: Expression, api: TypeChecker) -> Node | None:
    """Return the function that an expression refers to; None if it is unknown."""
    t = get_proper_type(api.get_expression_type(e))
    return definition_of(t, container_of(e, api), api) if isinstance(t, CallableType) else None


def _read_text(name: str) -> tuple[ErrorCode, str, str]:
    """Return the code and the text of an error about a read, and the fix."""
    if name in {*METHODS, *TEXTS}:
        return READ, *TEXTS.get(name, READ_TEXT)
    full_name = f"builtins.{name}" if f"builtins.{name}" in BUILTINS else name
    return *error_text(full_name), suggest_method(full_name, None)


def _place_and_facts(reads: Sequence[Read], context: Context, api: TypeChecker) -> tuple[Context, list[str]]:
    """Return the read itself as the context if it is in this file, and the facts about it."""
    *calls, read = reads
    facts = [f"calls: {c}" for c in calls]
    return (Context(read.line, read.column), facts) if read.path == api.path else (context, [*facts, f"reads: {read}"])
