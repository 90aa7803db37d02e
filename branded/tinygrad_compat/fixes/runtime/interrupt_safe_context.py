"""A fix for interrupts that leave devices forbidden or the garbage collector off.

tinygrad forbids devices while it compiles a kernel, and disables garbage collection while it computes tensors.
`Context.__exit__`, which restores an option, is Python code that Ctrl-C can interrupt. After that, every call raises
"usage of device CPU disallowed". Here C code restores both states, so no interrupt can skip that.
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
    """A context manager that calls a function at its exit, from C alone."""

    close: Any

    def __init__(self, function: Callable[..., object], *args: object) -> None:
        super().__init__()
        # a map runs once, so the second `close`, when the file is freed, does nothing
        self.close = functools.partial(deque, map(function, *((x,) for x in args)), 0)


def _restore_device_usage(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        option = private_api.device.ALLOW_DEVICE_USAGE
        with Afterwards(setattr, getattr(option, "own", option), "value", option.value):  # `own` is thread-local
            return original(*args, **kwargs)

    return call


def _disable_gc(_: Any) -> Afterwards:
    """Disable garbage collection and return a context manager that enables it again if it was enabled."""
    block = Afterwards(operator.call, gc.enable if gc.isenabled() else int)
    try:
        gc.disable()
        return block
    except BaseException:
        block.close()  # the caller's block will not run
        raise


def install() -> None:
    private_api.helpers.disable_gc._recreate_cm = _disable_gc
    private_api.codegen.do_to_program = _restore_device_usage(private_api.codegen.do_to_program)
    function = private_api.function._function
    function.__call__ = _restore_device_usage(function.__call__)
