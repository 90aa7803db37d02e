"""The operations of a long kernel that are alike keep the order of its graph.

tinygrad puts operations of the same priority in the order of all that they are made of, as nested tuples.  Two
chains that begin with another number, as four neighbours in a row do, differ at the bottom alone, and to compare two of
their operations takes the square of their length: 1,000 operations take a second, and 4,000 more than a minute.
"""

from __future__ import annotations

import functools

from tinygrad.helpers import Context
from tinygrad.uop.ops import UOp

from branded.tinygrad_compat import private_api

LONG = 400
"""Kernels of more operations are put in order in this way; those of fewer take tinygrad less than 0.1 s."""


def install() -> None:
    original = private_api.codegen.linearize

    @functools.wraps(original)
    def linearize(sink: UOp) -> list[UOp]:
        is_long = len(sink.toposort()) > LONG
        with Context(**({"TUPLE_ORDER": 0} if is_long else {})):  # type: ignore[no-untyped-call]
            out: list[UOp] = original(sink)
        return out

    private_api.codegen.linearize = linearize
