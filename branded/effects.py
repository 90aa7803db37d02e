"""Effects: what a body must do each time that it runs, though nobody uses a value of it.

A body that is traced has no values yet, so what it must do becomes a part of its graph: its `token`, a value that is
worked out only after all that.  Each effect takes the token before it and gives one, so they run in order.  The token
of a loop's body is a carry of the loop, that of a compiled function a result of its program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tinygrad import dtypes
from tinygrad.uop.ops import UOp

from branded.graph import on_device
from branded.scope import Block, Blocks, Row, open_brands

TOKEN = dtypes.uint8


def nothing_done(device: str) -> UOp:
    """The token of the beginning."""
    return on_device(UOp.const(0, TOKEN), device)


class Body:
    """A body that is traced: what it must do."""

    def __init__(self, start: Callable[[str], UOp] | None = None) -> None:
        """`start` gives the token that the first effect takes, on a device."""
        self.outer: Row = open_brands()
        """What is open around it: its values may vary over that, and it runs for all of it."""
        self.start = start or nothing_done
        self.first: UOp | None = None
        self.token: UOp | None = None
        """That of the last effect; None if there is none."""

    def before(self, device: str) -> UOp:
        """The token for the next effect."""
        if self.token is None:
            self.first = self.token = self.start(device)
        return self.token


class Effect(NamedTuple):
    """What the body of a loop must do: the token as a parameter, and as it is after a step."""

    param: UOp
    next: UOp


_bodies: Blocks[Body] = Blocks("branded_effects")
_refusals: Blocks[str] = Blocks("branded_without_effects")
_flags: Blocks[UOp] = Blocks("branded_flags")


def collected(body: Body) -> Block[Body]:
    """While a body is traced."""
    return _bodies.during(body)


def body() -> Body | None:
    """The body that is traced here; None where what runs here has values."""
    found = _bodies.get()
    return found[-1] if found else None


def only_if(flag: UOp) -> Block[UOp]:
    """While a branch runs that not all examples take: its effects are those of the examples with this flag."""
    return _flags.during(flag)


def flags() -> tuple[UOp, ...]:
    return _flags.get()


def without_effects(why: str) -> Block[str]:
    """While what runs becomes a part of a program that runs nobody knows how often."""
    return _refusals.during(why)


def refusal() -> str | None:
    found = _refusals.get()
    return found[-1] if found else None
