"""`jit(f, tune=...)`: what is asked for while a program is compiled, and what was found; `tuned` does the work.

This is little, for all programs ask it whether kernels are tried.
"""

from __future__ import annotations

import threading
from typing import Literal, NamedTuple

from branded.tinygrad_compat.fixes.runtime.interrupt_safe_context import Afterwards

How = Literal["fast", "best"]
"""What `tune` may be, beside None."""
BEAM: dict[How, int] = {"fast": 2, "best": 4}
"""So wide tinygrad's own search is on another device than the CPU."""


class Tuned(NamedTuple):
    """A kernel of a program, and the form that it has."""

    kernel: str
    """Its name, in the form that a rule gives it."""
    form: str
    """"rule" where no other was faster."""
    seconds: float
    """The time of a run, with the parts for several cores one after the other."""
    by_rule: float
    """That of the form which a rule gives it."""
    tried: int
    """So many forms were run now; 0 where the choice was known, in this process or on disk."""

    @property
    def gain(self) -> float:
        return self.by_rule / self.seconds if self.seconds else 1.0


class Report(tuple[Tuned, ...]):
    """The kernels of a program that were tried, each once; `print` shows a table."""

    __slots__ = ()

    @property
    def tried(self) -> int:
        """So many forms were run now."""
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
    """Whether the kernels of a program are tried, and which were, by their key."""

    how: How | None
    found: dict[str, Tuned]


class Now(NamedTuple):
    """What holds while a program is compiled whose kernels are tried."""

    how: How
    found: dict[str, Tuned]
    """The kernels that were tried, by their key."""
    is_step: bool = False
    """Is it the step of a loop, which runs often?"""


class _Tuning(threading.local):
    now: Now | None = None
    waits: bool = False
    """Is it said later which kernels are products?"""


state = _Tuning()


def asked(how: How | None, found: dict[str, Tuned]) -> Afterwards:
    """A block in which kernels are tried, if `how` is not None."""
    block = Afterwards(setattr, state, "now", state.now)
    state.now = None if how is None else Now(how, found)
    return block


def in_a_step() -> Afterwards:
    """A block in which the kernels are those of a step."""
    block = Afterwards(setattr, state, "now", state.now)
    if state.now is not None:
        state.now = state.now._replace(is_step=True)
    return block


def waiting() -> Afterwards:
    """A block in which no kernel is made a product, if kernels are tried: that is tried too."""
    block = Afterwards(setattr, state, "waits", state.waits)
    state.waits = state.now is not None
    return block


def beam(device: object) -> int:
    """How wide tinygrad's own search is to be for the kernels of a device: 0 for none, as on the CPU."""
    if state.now is None or device is None or str(device).split(":")[0] == "CPU":
        return 0
    return BEAM[state.now.how]


def how() -> How | None:
    return None if state.now is None else state.now.how
