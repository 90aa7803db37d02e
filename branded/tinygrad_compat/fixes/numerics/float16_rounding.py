"""A float32 that becomes a float16 is rounded, also where it becomes a float32 again in the same kernel.

tinygrad leaves out both conversions, for the sake of images, whose float16 are float32: `x.half().float()` is `x`.  A
matrix product of float16 is summed in float32, so `X.half() @ Y.half()` was the product of the float32 `X` and `Y`
where the float16 were not in memory.
"""

from __future__ import annotations

from tinygrad.helpers import IMAGE
from tinygrad.uop.ops import Ops, PatternMatcher

from branded.tinygrad_compat import private_api


def install() -> None:
    if not IMAGE:
        rules = private_api.codegen.pm_simplify_add_image.patterns
        private_api.codegen.pm_simplify_add_image = PatternMatcher([(p, f) for p, f in rules if Ops.CAST not in p.op])
