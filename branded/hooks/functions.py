"""Hooks for functions that tinygrad traces or runs: `@function`, TinyJit and custom kernels."""

from __future__ import annotations

import functools
from typing import Any

from tinygrad import Tensor
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat

from branded.core.batching.unsupported import KERNEL, KERNEL_FIX
from branded.core.values import vec_type
from branded.errors import UnsupportedError
from branded.graph.primitive import params
from branded.graph.rows import is_differentiated, row_of
from branded.graph.scope import brand_of, open_brands
from branded.graph.tags import is_leaf
from branded.graph.uops import on_device
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.private_api import _TinyJit
from branded.tinygrad_compat.tensor_methods import Method, wrap


def _lift_into_function(ctx: Any, x: UOp) -> UOp | None:
    """Make a per-example or differentiated value in the closure of a @function an additional argument.

    For a detached value, the argument is the result of `detach`, which is not differentiated.
    """
    if not (is_differentiated(x) if x.op is Ops.DETACH else brand_of(x.src[-1]) or is_leaf(x)):
        return None
    arguments: list[UOp] = ctx[0]
    param: UOp = x.param_like(len(arguments))
    argument = x.substitute({p: arguments[p.arg.slot] for p in params(x)})
    if not row_of(argument):  # a separate kernel reads it from memory, even if it is a differentiated number
        argument = on_device(argument)
        param = argument.param_like(len(arguments))
    arguments.append(argument)
    return param


def _jit(original: Method) -> Method:
    """Make a TinyJit call its plain function under a brand, where nothing can run yet."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not open_brands():
            return original(self, *args, **kwargs)
        if self.fxn is None:
            raise UnsupportedError(
                "TinyJit: loaded kernels have no batching rule",
                fix="call the function itself, or move the TinyJit outside",
            )
        return self.fxn(*args, **kwargs)

    return call


def _custom_kernel(original: Method) -> Method:
    def custom_kernel(self: Tensor, *lst: Tensor, **kwargs: Any) -> Any:
        for t in (self, *lst):
            if any(b.is_brand for b in row_of(t.uop)):
                raise UnsupportedError(KERNEL, ("value", vec_type(t)), fix=KERNEL_FIX)
        return original(self, *lst, **kwargs)

    return custom_kernel


def install() -> None:
    _TinyJit.__call__ = functools.wraps(_TinyJit.__call__)(_jit(_TinyJit.__call__))
    wrap("custom_kernel", _custom_kernel)
    private_api.function.pm_ctx = (
        PatternMatcher(
            [
                (UPat((Ops.INDEX, Ops.STAGE), src=(UPat(), UPat(Ops.RANGE)), name="x"), _lift_into_function),
                (UPat((Ops.CONTIGUOUS_BACKWARD, Ops.DETACH), name="x"), _lift_into_function),
            ]
        )
        + private_api.function.pm_ctx
    )
