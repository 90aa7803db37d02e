"""Where branded meets tinygrad: the places in which a tensor must know that it varies over a brand.

Each hook asks first whether a value has open brands, and otherwise does what tinygrad does.
"""

from __future__ import annotations

import branded.core.batching  # noqa: F401  fills the table of rules
from branded.compile import loop_scheduling
from branded.hooks import (
    elementwise,
    functions,
    gradient,
    host_cumsum,
    host_sort,
    operands,
    rand,
    reads,
    shapes,
    writes,
)
from branded.hooks.error_translation import detect
from branded.tinygrad_compat import c_compiler
from branded.tinygrad_compat.speed import program_cache, schedule_cache

HOOKS = (
    *(elementwise, detect, operands, reads, writes, shapes, gradient, functions, rand),
    *(host_sort, host_cumsum, program_cache, schedule_cache),
)
"""Each in a module of its own, in the order in which they are installed."""


def install() -> None:
    c_compiler.choose()  # before the first compile
    for hook in HOOKS:
        hook.install()
    loop_scheduling.install()
