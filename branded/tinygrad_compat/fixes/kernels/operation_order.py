"""A fix for slow ordering of long kernels: similar operations keep the order of the graph.

tinygrad sorts operations of equal priority by their operands, as nested tuples. Two chains that differ only in their
first number, such as four adjacent elements of a row, take quadratic time to compare: 1,000 operations take a second,
and 4,000 operations more than a minute.
"""

from __future__ import annotations

import functools

from tinygrad.helpers import Context
from tinygrad.uop.ops import UOp

from branded.tinygrad_compat import private_api

LONG = 400
"""The number of operations above which a kernel is ordered this way; tinygrad needs less than 0.1 s below it."""


def install() -> None:
    original = private_api.codegen.linearize

    @functools.wraps(original)
    def linearize(sink: UOp) -> list[UOp]:
        is_long = len(sink.toposort()) > LONG
        with Context(**({"TUPLE_ORDER": 0} if is_long else {})):  # type: ignore[no-untyped-call]
            out: list[UOp] = original(sink)
        return out

    private_api.codegen.linearize = linearize
