"""mypy's own hooks, for names for which this plugin has a hook too: mypy asks only the first plugin that has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mypy.nodes import CallExpr
from mypy.types import CallableType, FunctionLike

from branded.mypy.rows.callables import arguments_by_formal
from branded.mypy.rows.reporting import checker

Signature = Callable[[Any], FunctionLike]


def after_mypy(own: Signature | None, hook: Signature | None) -> Signature | None:
    """Return a hook that changes the signature of mypy's own hook, such as that of `replace(p, x=1)` for its class."""
    if own is None or hook is None:
        return hook

    def called(ctx: Any) -> FunctionLike:
        sig, call = own(ctx), ctx.context
        if isinstance(sig, CallableType) and isinstance(call, CallExpr):
            args = arguments_by_formal(sig, call, checker(ctx))
            return hook(ctx._replace(default_signature=sig, args=args))
        return sig

    return called
