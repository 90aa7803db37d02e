"""Memoized types in the body of a lambda: without them, each nested operand doubles the work.

mypy asks for the type of an operand several times. It caches the answer, except in lambdas, where the type depends on
the parameters. While a rule checks a lambda, the rule fixes the types of the parameters, so they can be cached.

    vmap(lambda x: x + (y * f(x)))(a)     `+` asks for the product three times, and each `*` for f(x) too
    while the rule checks the lambda      each is asked for once or twice
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mypy.checker import TypeChecker
from mypy.nodes import CallExpr, LambdaExpr
from mypy.types import Type

from branded.mypy.rows.callables import typed_stars
from branded.mypy.rows.injected_values import inject_into_lambda

_looked_at: list[LambdaExpr] = []
"""The lambdas whose bodies are being checked, innermost last."""


def type_of_call(call: CallExpr, api: TypeChecker) -> Type:
    """Return the type of a call; the called function may be a lambda."""
    if not isinstance(call.callee, LambdaExpr):
        return api.get_expression_type(call)
    inject_into_lambda(call.callee, api)
    with _separate_cache(call.callee, api), typed_stars(call.callee, call, api):
        return api.get_expression_type(call)


@contextmanager
def _separate_cache(f: LambdaExpr, api: TypeChecker) -> Iterator[None]:
    """Use an empty cache while a lambda is checked, and restore the previous cache after it."""
    expressions = api.expr_checker
    previous_cache, expressions.expr_cache = expressions.expr_cache, {}
    _looked_at.append(f)
    try:
        yield
    finally:
        _looked_at.pop()
        expressions.expr_cache = previous_cache


def cache_in_body(api: TypeChecker) -> None:
    """Let mypy cache types in the body of the lambda that is being checked, but not in a nested lambda."""
    if _looked_at and api.expr_checker.in_lambda_expr and api.scope.stack[-1:] == _looked_at[-1:]:
        api.expr_checker.in_lambda_expr = False
