"""A fix of the C renderer: long chains of operations become one expression, and clang rejects it.

tinygrad writes an operation that is used once into the expression of its user. A chain of 1,200 additions is one
expression with 1,200 brackets inside each other, and clang stops at 2,048 open brackets. Here every value at depth
`DEPTH` becomes a variable.
"""

from __future__ import annotations

import functools
from typing import Any

from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.tinygrad_compat import private_api

DEPTH = 64
"""The largest depth of an expression, counted in operations."""
_INLINED = {*GroupOp.ALU, Ops.CAST, Ops.BITCAST, Ops.STACK}


def install() -> None:
    cls: Any = private_api.cstyle.ClangRenderer
    original = cls._render

    @functools.wraps(original)
    def _render(self: Any, uops: list[UOp]) -> Any:
        return original(self, _with_variables(uops))

    cls._render = _render


def _with_variables(uops: list[UOp]) -> list[UOp]:
    """Return the operations and a NOOP that uses each value at depth `DEPTH`: a value with two users is a variable."""
    depths: dict[UOp, int] = {}
    deep: list[UOp] = []
    for u in uops if len(uops) > DEPTH else ():
        if u.op in _INLINED:
            depths[u] = 1 + max((depths.get(s, 0) for s in u.src), default=0)
            if depths[u] == DEPTH:
                deep.append(u)
                depths[u] = 0
    return [*uops[:-1], UOp(Ops.NOOP, src=tuple(deep)), uops[-1]] if deep else uops
