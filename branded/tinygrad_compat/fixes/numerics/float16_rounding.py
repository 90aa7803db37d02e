"""A fix for casts to float16: the value is rounded, even if the same kernel converts it back to float32.

tinygrad drops both casts for the sake of images, whose float16 values are float32: `x.half().float()` is `x`. A matrix
multiplication of float16 accumulates in float32. Without the fix, `X.half() @ Y.half()` is the product of the float32
`X` and `Y`, unless the float16 values are in memory.
"""

from __future__ import annotations

from tinygrad.helpers import IMAGE
from tinygrad.uop.ops import Ops, PatternMatcher

from branded.tinygrad_compat import private_api


def install() -> None:
    if not IMAGE:
        rules = private_api.codegen.pm_simplify_add_image.patterns
        private_api.codegen.pm_simplify_add_image = PatternMatcher([(p, f) for p, f in rules if Ops.CAST not in p.op])
