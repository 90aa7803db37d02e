"""Errors for operations without a batching rule."""

from __future__ import annotations

import functools

from tinygrad.uop.ops import UOp

from branded.errors import UnsupportedError
from branded.graph.primitive import Batched
from branded.graph.rows import type_text
from branded.graph.scope import Row, union
from branded.tinygrad_compat.private_api import has_shape

KERNEL = "custom_kernel: a hand-written kernel has no batching rule"
KERNEL_FIX = "wrap the call in sequential_vmap, or in a custom_vmap whose rule runs it on the batch"


def refuse(u: UOp, problem: str, fix: str, *operands: Batched) -> UnsupportedError:
    row: Row = functools.reduce(union, (x.row for x in operands), ())
    shaped = next((s for s in (u, *u.src) if has_shape(s)), None)
    return UnsupportedError(problem, *([("value", type_text(shaped, row))] if shaped is not None else []), fix=fix)
