"""tinygrad forbids the use of devices while a kernel is made, and an interrupt at its end leaves them forbidden.

And it switches the collector of garbage off while tensors are computed, and an interrupt at the end leaves it off.

It sets its options for a block with `Context`, whose `__exit__` is a function of Python like another: when Ctrl-C comes
into it, "usage of device CPU disallowed" is all that one gets from then on.  Here the option is set back by C, and
so is the collector.
"""

from __future__ import annotations

import functools
import gc
import io
import operator
from collections import deque
from collections.abc import Callable
from typing import Any

from branded.tinygrad_compat import private_api


class Afterwards(io.BytesIO):
    """A `with` block after which a function is called, by C alone."""

    close: Any

    def __init__(self, function: Callable[..., object], *args: object) -> None:
        super().__init__()
        # a map is run through once: what closes a file when it is freed comes a second time
        self.close = functools.partial(deque, map(function, *((x,) for x in args)), 0)


def _allowed_again(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        option = private_api.device.ALLOW_DEVICE_USAGE
        with Afterwards(setattr, getattr(option, "own", option), "value", option.value):  # `own`: of each thread
            return original(*args, **kwargs)

    return call


def _off(_: Any) -> Afterwards:
    """A `with` block after which garbage is collected if it was before."""
    block = Afterwards(operator.call, gc.enable if gc.isenabled() else int)
    try:
        gc.disable()
        return block
    except BaseException:
        block.close()  # the block will not run
        raise


def install() -> None:
    if hasattr(private_api.helpers, "disable_gc"):
        private_api.helpers.disable_gc._recreate_cm = _off
    if not (hasattr(private_api.device, "ALLOW_DEVICE_USAGE") and hasattr(private_api.codegen, "do_to_program")):
        return
    private_api.codegen.do_to_program = _allowed_again(private_api.codegen.do_to_program)
    function = private_api.function._function
    function.__call__ = _allowed_again(function.__call__)
