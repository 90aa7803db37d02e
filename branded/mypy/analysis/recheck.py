"""A second type check of a function's body, with other types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mypy.checker import TypeChecker, expand_func
from mypy.errors import ErrorInfo
from mypy.nodes import AssignmentStmt, FuncDef, NameExpr, Var
from mypy.types import CallableType

from branded.mypy.analysis.source.walk import walk
from branded.mypy.analysis.source_digest import depend_on_sources
from branded.mypy.rows import injected_calls
from branded.mypy.rows.algebra import Brand, change
from branded.mypy.rows.reporting import trying


class CheckedCopy(NamedTuple):
    """A checked copy of a function, and its errors."""

    function: FuncDef
    errors: list[ErrorInfo]


def recheck_function(
    f: FuncDef,
    t: CallableType,
    api: TypeChecker,
    rows: Sequence[Brand] = (),
    then: Callable[[FuncDef], None] = lambda f: None,
) -> CheckedCopy:
    """Type check a copy of a function with the type `t`, without reporting its errors.

    mypy checks the top level of a file before its functions. The body of a function that is mapped at the top level has
    no types yet.

    Args:
        f: A function of this file.
        t: Its type.
        api: The type checker.
        rows: The brands to add to local variables that are declared as tensors.
        then: A further check of the copy, whose errors are returned too.

    Returns:
        The copy and its errors.
    """
    depend_on_sources({api.tree}, api)
    copy = expand_func(f, {})
    assert isinstance(copy, FuncDef)
    injected_calls.update_copy(copy)
    for part in walk(copy.body) if rows else ():
        if isinstance(part, AssignmentStmt) and part.type is not None:
            _widen_declaration(part, rows)
    deferred, depth = len(api.deferred_nodes), len(api.scope.stack)
    last, defers = api.pass_num, api.current_node_deferred
    recurses, api.recurse_into_functions = api.recurse_into_functions, True
    # mypy caches no types in a lambda, but this body is not in the lambda that calls it
    expressions = api.expr_checker
    in_lambda, expressions.in_lambda_expr = expressions.in_lambda_expr, False
    api.pass_num = api.last_pass  # in the last pass, an unknown type is an error instead of a reason to defer
    # the body is not in the function or class that calls it
    if "." in f.fullname:
        api.scope.stack += [api.tree, f.info] if f.info else [api.tree]
    try:
        with trying(api) as errors:
            api.check_func_item(copy, t, name=f.name)
            then(copy)
    finally:
        api.pass_num, api.current_node_deferred, api.recurse_into_functions = last, defers, recurses
        expressions.in_lambda_expr = in_lambda
        del api.deferred_nodes[deferred:], api.scope.stack[depth:]
    return CheckedCopy(copy, list(errors.filtered_errors()))


def _widen_declaration(declared: AssignmentStmt, rows: Sequence[Brand]) -> None:
    """Add brands to a declared variable: `y: Tensor = x * 2`."""
    if declared.type is not None:
        declared.type = change(declared.type, lambda row: [*row, *rows])
    for v in declared.lvalues:
        if isinstance(v, NameExpr) and isinstance(v.node, Var) and v.node.type is not None:
            v.node.type = change(v.node.type, lambda row: [*row, *rows])
