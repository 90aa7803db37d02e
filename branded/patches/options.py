"""tinygrad forbids the use of devices while a kernel is made, and an interrupt at its end leaves them forbidden.

It sets its options for a block with `Context`, whose `__exit__` is a function of Python like another: when Ctrl-C comes
into it, "usage of device CPU disallowed" is all that one gets from then on.  Here the option is set back by C.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from branded.patches import tg
from branded.scope import Restored


def _allowed_again(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        option = tg.device.ALLOW_DEVICE_USAGE
        with Restored(getattr(option, "own", option), "value", option.value):  # `own` has the values of each thread
            return original(*args, **kwargs)

    return call


def install() -> None:
    if not (hasattr(tg.device, "ALLOW_DEVICE_USAGE") and hasattr(tg.codegen, "do_to_program")):
        return
    tg.codegen.do_to_program = _allowed_again(tg.codegen.do_to_program)
    function = tg.function._function
    function.__call__ = _allowed_again(function.__call__)
