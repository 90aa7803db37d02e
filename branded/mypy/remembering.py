"""What mypy finds in the body of a lambda, kept while the body is looked at: else each operand doubles the work.

mypy asks an operand or an argument for its type several times, and keeps what it finds, but not in lambdas, where it
depends on the types of the parameters.  While a rule looks at a lambda, these are what the rule gives.

    vmap(lambda x: x + (y * f(x)))(a)     `+` asks for the product three times, and each `*` for f(x) too
    while the rule looks at the lambda    each is asked for once or twice
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mypy.checker import TypeChecker
from mypy.nodes import CallExpr, LambdaExpr
from mypy.types import Type

_looked_at: list[LambdaExpr] = []
"""The lambdas whose bodies are looked at now, the innermost last."""


def type_of_call(call: CallExpr, api: TypeChecker) -> Type:
    """The type of a call, whose function may be a lambda."""
    if not isinstance(call.callee, LambdaExpr):
        return api.get_expression_type(call)
    with _alone(call.callee, api):
        return api.get_expression_type(call)


@contextmanager
def _alone(f: LambdaExpr, api: TypeChecker) -> Iterator[None]:
    """Forget what was found for other parameters, and what will be found for these."""
    expressions = api.expr_checker
    kept, expressions.expr_cache = expressions.expr_cache, {}
    _looked_at.append(f)
    try:
        yield
    finally:
        _looked_at.pop()
        expressions.expr_cache = kept


def keep_in_body(api: TypeChecker) -> None:
    """Let mypy keep what it finds here, if this is the body of a lambda that a rule looks at, and none within it."""
    if _looked_at and api.expr_checker.in_lambda_expr and api.scope.stack[-1:] == _looked_at[-1:]:
        api.expr_checker.in_lambda_expr = False
