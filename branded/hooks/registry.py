"""The list of hooks into tinygrad, and their installation.

Most hooks act only on batched values or in traced code. `host_sort`, `host_cumsum`, `last_write`,
`transposed_convolution`, parts of `gradient` and the caches act on all graphs of this package. The hooks of
`elementwise` are installed at import, before a program can hold the methods that they replace.
"""

from __future__ import annotations

import branded.core.batching  # noqa: F401  fills the table of rules
from branded.compile import loop_scheduling
from branded.hooks import (
    functions,
    gradient,
    host_cumsum,
    host_sort,
    last_write,
    operands,
    pairwise_einsum,
    rand,
    reads,
    recorded_methods,
    shapes,
    transposed_convolution,
    writes,
)
from branded.hooks.error_translation import detect
from branded.tinygrad_compat import c_compiler, features
from branded.tinygrad_compat.speed import program_cache, schedule_cache

HOOKS = (
    *(detect, operands, reads, writes, shapes, gradient, functions, rand),
    *(host_sort, host_cumsum, last_write, transposed_convolution, pairwise_einsum, program_cache, schedule_cache),
    recorded_methods,
)
"""The modules of the hooks, in the order of installation."""
_FEATURES = {detect: "errors", program_cache: "disk", schedule_cache: "disk"}
"""The features that need other private names than the core."""


def install() -> None:
    if features.fits("compiler"):
        c_compiler.explain_errors()
    for hook in HOOKS:
        if features.fits(_FEATURES.get(hook, "core")):
            hook.install()
    loop_scheduling.install()
