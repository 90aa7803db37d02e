"""The state of tuning while a program is compiled, for `jit(f, tune=...)`; `search` tunes the kernels.

This module is small, because every compilation imports it to find out whether to tune kernels.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import Literal, NamedTuple

from tinygrad.uop.ops import UOp

from branded.tinygrad_compat.fixes.runtime.interrupt_safe_context import Afterwards

TuneLevel = Literal["fast", "best"]
"""The values of `tune`, in addition to None."""
BEAM: dict[TuneLevel, int] = {"fast": 2, "best": 4}
"""The beam width of tinygrad's own search on devices other than the CPU."""


class Tuned(NamedTuple):
    """A kernel of a program, and its chosen variant."""

    kernel: str
    """The kernel's name in its default variant."""
    form: str
    """The variant; "rule" if none was faster than the default."""
    seconds: float
    """The time of a run in seconds, if the parts for several cores run one after the other."""
    by_rule: float
    """The time of the default variant."""
    tried: int
    """The number of variants benchmarked now; 0 if the choice was cached, in this process or on disk."""

    @property
    def gain(self) -> float:
        return self.by_rule / self.seconds if self.seconds else 1.0


class Report(tuple[Tuned, ...]):
    """The tuned kernels of a program, each once; `print` shows a table."""

    __slots__ = ()

    @property
    def tried(self) -> int:
        """The number of variants benchmarked now."""
        return sum(x.tried for x in self)

    def __str__(self) -> str:
        if not self:
            return "no kernel was tried"
        text = [f"{'kernel':<40} {'form':<24} {'rule, µs':>10} {'µs':>10} {'gain':>6} {'tried':>6}"]
        for x in self:
            name = x.kernel if len(x.kernel) <= 40 else x.kernel[:39] + "…"
            times = f"{x.by_rule * 1e6:>10.2f} {x.seconds * 1e6:>10.2f} {x.gain:>6.2f}"
            text.append(f"{name:<40} {x.form:<24} {times} {x.tried:>6}")
        return "\n".join(text)


class Tune(NamedTuple):
    """The tuning level of a program, and its tuned kernels by their key."""

    how: TuneLevel | None
    found: dict[str, Tuned]


class Now(NamedTuple):
    """The state while a program with tuning is compiled."""

    how: TuneLevel
    found: dict[str, Tuned]
    """The tuned kernels, by their key."""
    is_step: bool = False
    """Whether the program is the step of a loop, which runs often."""


class _Tuning(threading.local):
    now: Now | None = None
    waits: bool = False
    """Whether the replacement of kernels by BLAS calls is postponed."""
    fixed: Collection[UOp] = ()
    """The buffers that have the same values in each step of the loop that is compiled."""


state = _Tuning()


def tuning_block(level: TuneLevel | None, tuned: dict[str, Tuned]) -> Afterwards:
    """Return a `with` block in which kernels are tuned, unless `level` is None."""
    block = Afterwards(setattr, state, "now", state.now)
    state.now = None if level is None else Now(level, tuned)
    return block


def in_a_step() -> Afterwards:
    """Return a `with` block in which compiled kernels belong to the step of a loop."""
    block = Afterwards(setattr, state, "now", state.now)
    if state.now is not None:
        state.now = state.now._replace(is_step=True)
    return block


def in_steps_with(fixed: Collection[UOp]) -> Afterwards:
    """Return a `with` block in which compiled kernels belong to the step of a loop that does not change `fixed`."""
    block = Afterwards(setattr, state, "fixed", state.fixed)
    state.fixed = fixed
    return block


def waiting() -> Afterwards:
    """Return a `with` block that postpones the replacement of kernels by BLAS calls, because tuning compares both."""
    block = Afterwards(setattr, state, "waits", state.waits)
    state.waits = state.now is not None
    return block


def beam(device: object) -> int:
    """Return the beam width of tinygrad's own search for a device: 0 for no search, as on the CPU."""
    if state.now is None or device is None or str(device).split(":")[0] == "CPU":
        return 0
    return BEAM[state.now.how]


def how() -> TuneLevel | None:
    return None if state.now is None else state.now.how
