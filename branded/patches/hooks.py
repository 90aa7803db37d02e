"""Where branded meets tinygrad: the places in which a tensor must know that it varies over a brand.

Each hook asks first whether a value has open brands, and otherwise does what tinygrad does.
"""

from __future__ import annotations

import branded.rules  # noqa: F401  fills the table of rules
from branded.loops import scheduled
from branded.patches import (
    compiler,
    cumulative,
    elementwise,
    function,
    gradient,
    misfits,
    operands,
    programs,
    rand,
    reads,
    schedules,
    shapes,
    sort,
    writes,
)

HOOKS = (
    *(elementwise, misfits, operands, reads, writes, shapes, gradient, function, rand),
    *(sort, cumulative, programs, schedules),
)
"""Each in a module of its own, in the order in which they are installed."""


def install() -> None:
    compiler.choose()  # before the first compile
    for hook in HOOKS:
        hook.install()
    scheduled.install()
