"""A fix for empty arguments of precompiled functions.

tinygrad replaces an empty value by 0, because no kernel reads it. A call then gets a number where it needs a buffer:
`function(lambda x: x.sum(), precompile=True)(Tensor.empty(0))` raises "UOp verification failed". Here a buffer with one
element, which is not read either, replaces such an argument.
"""

from __future__ import annotations

from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat

from branded.tinygrad_compat import private_api


def _is_empty(x: UOp) -> bool:
    return private_api.has_shape(x) and 0 in x.shape and x.dtype.itemsize > 0 and isinstance(x.device, str)


def _fill(call: UOp) -> UOp | None:
    if not call.arg.precompile or not any(map(_is_empty, call.src[1:])):
        return None
    filled = (UOp.new_buffer(x.device, 1, x.dtype) if _is_empty(x) else x for x in call.src[1:])
    return call.replace(src=(call.src[0], *filled))


def install() -> None:
    private_api.tensor.pm_early_transform_tensor_graph = (
        PatternMatcher([(UPat(Ops.FUNCTION, name="call"), _fill)]) + private_api.tensor.pm_early_transform_tensor_graph
    )
