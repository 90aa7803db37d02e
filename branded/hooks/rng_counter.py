"""Two draws of `Tensor.rand` are the same in tinygrad when the second is computed before the first.

Each draw reads a counter that the next one writes into: whoever computes late, in this thread or in another, finds the
counter of the last draw that was computed.  Here a draw has the counter as it was for it, in memory of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tinygrad import Tensor

from branded.graph.scope import unruled
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.tinygrad_lock import serial


def _kept(original: Callable[..., Any]) -> Callable[..., Any]:
    @serial
    def next_counter(device: str, num: int) -> tuple[Tensor, Tensor]:
        of: dict[str, Tensor] = Tensor.__dict__[private_api.COUNTERS]
        if device not in of:
            original(device, 0)
            of = Tensor.__dict__[private_api.COUNTERS]
        now = of[device].clone()
        low = now[0:1] + (num & 0xFFFFFFFF)
        high = now[1:2] + (num >> 32) + (low < now[0:1])
        with unruled():  # a draw counts on, however often it is made
            of[device].assign(low.cat(high))
        # whoever computes a draw counts on, so that each replay of a TinyJit does; what another thread computes is no
        # part of what this one captures, so there it is counted at once
        own = Tensor(now.uop.after(of[device].uop))
        return Tensor.__dict__[private_api.SEEDS][device], own.realize() if _is_captured() else own

    return next_counter


def _is_captured() -> bool:
    return bool(private_api.realize.capturing) and not private_api._function.depth


def install() -> None:
    original = getattr(Tensor, private_api.NEXT_COUNTER, None)
    if original is not None and {"assign", private_api.COUNTERS} <= set(inspect.unwrap(original).__code__.co_names):
        setattr(Tensor, private_api.NEXT_COUNTER, staticmethod(_kept(original)))
