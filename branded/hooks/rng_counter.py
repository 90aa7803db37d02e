"""A fix for `Tensor.rand`: two samples are equal in tinygrad if the second is computed before the first.

Each sample reads a counter that the next sample overwrites. A sample that is computed late, in this thread or another,
reads the counter of the last computed sample. Here each sample has a copy of the counter at its creation.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tinygrad import Tensor

from branded.errors import RandomnessError
from branded.graph.scope import open_brands, without_rule_block
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.tinygrad_lock import serial


def _wrap_next_counter(original: Callable[..., Any]) -> Callable[..., Any]:
    @serial
    def next_counter(device: str, num: int) -> tuple[Tensor, Tensor]:
        if not all(b.is_program for b in open_brands()):  # `hooks.rand` samples outside of all brands
            raise RandomnessError(
                "randomness: this random function is tinygrad's own, taken from Tensor before branded replaced it",
                fix="call it as an attribute of Tensor, such as Tensor.rand(...), in the function",
            )
        counters: dict[str, Tensor] = Tensor.__dict__[private_api.COUNTERS]
        if device not in counters:
            original(device, 0)
            counters = Tensor.__dict__[private_api.COUNTERS]
        now = counters[device].clone()
        low = now[0:1] + (num & 0xFFFFFFFF)
        high = now[1:2] + (num >> 32) + (low < now[0:1])
        with without_rule_block():  # a sample advances the counter, even if a function with a rule runs again
            counters[device].assign(low.cat(high))
        # Computing a sample advances the counter, so that each replay of a TinyJit does. Other threads may compute a
        # sample outside of this capture, so during a capture the counter is advanced immediately.
        counter = Tensor(now.uop.after(counters[device].uop))
        is_captured = private_api.realize.capturing and not private_api._function.depth
        return Tensor.__dict__[private_api.SEEDS][device], counter.realize() if is_captured else counter

    return next_counter


def install() -> None:
    original = getattr(Tensor, private_api.NEXT_COUNTER, None)
    if original is not None and {"assign", private_api.COUNTERS} <= set(inspect.unwrap(original).__code__.co_names):
        setattr(Tensor, private_api.NEXT_COUNTER, staticmethod(_wrap_next_counter(original)))
