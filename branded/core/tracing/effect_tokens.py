"""Bodies that are traced: what one must do each time that it runs, though nobody uses a value of it.

A body that is traced has no values yet, so what it must do becomes a part of its graph: its `token`, a value that is
worked out only after all that.  Each effect takes the token before it and gives one, so they run in order.  The token
of a loop's body is a carry of the loop, that of a compiled function a result of its program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, UOp

from branded.graph.scope import Block, Blocks, Row, Scope, open_brands
from branded.graph.uops import on_device

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
        self.flags = len(_flags.get())
        """How many branches are around it."""
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
_through: Blocks[None] = Blocks("branded_through_a_body")
_looked_at: Blocks[None] = Blocks("branded_looked_at")
_steps: Blocks[Mapping[UOp, Scope]] = Blocks("branded_places")


def collected(body: Body) -> Block[Body]:
    """While a body is traced."""
    return _bodies.during(body)


def body() -> Body | None:
    """The body that is traced here; None where what runs here has values."""
    found = _bodies.get()
    return found[-1] if found else None


def given_to(places: Mapping[UOp, Scope]) -> Block[Mapping[UOp, Scope]]:
    """While the body of a loop is traced, or a rule runs for a call in one: what stands for the values of its step."""
    return _steps.during(places)


def places() -> dict[UOp, Scope]:
    """What stands for the values of the steps in which this runs, with the scopes of their loops."""
    return {place: steps for given in _steps.get() for place, steps in given.items()}


def only_if(flag: UOp) -> Block[UOp]:
    """While a branch runs that not all examples take: its effects are those of the examples with this flag."""
    return _flags.during(flag)


def flags() -> tuple[UOp, ...]:
    return _flags.get()


def gate() -> UOp | None:
    """Are the branches taken that a loop is in?  None where it is in none; a loop around it has a gate of its own."""
    around = body()
    found = flags()[around.flags if around is not None else 0 :]
    return functools.reduce(lambda a, b: a & b, found) if found else None


def before(around: Body | None, device: str) -> UOp:
    """The token for the next effect; `around` is the body that is traced."""
    return nothing_done(device) if around is None or is_only_looked_at() else around.before(device)


def without_effects(why: str) -> Block[str]:
    """While what runs becomes a part of a program that runs nobody knows how often."""
    return _refusals.during(why)


def refusal() -> str | None:
    found = _refusals.get()
    return found[-1] if found else None


def differentiated(is_rule: bool) -> AbstractContextManager[object]:
    """While the derivative of a call is taken.  In one of a body, which was traced before, a rule has no values."""
    return nullcontext() if is_rule else _through.during(None)


is_through_a_body = _through.any_open
"""Is the derivative taken of a body that was traced before?"""


def only_looked_at() -> Block[None]:
    """While a rule of the user's runs only to see what its results are like: what it must do is not done."""
    return _looked_at.during(None)


is_only_looked_at = _looked_at.any_open
"""Does such a rule run here?"""


class RuleBody(Body):
    """A rule for a body that was traced before: what it must do is done where that is run, if its results are used."""

    def __init__(self, given: Sequence[UOp | None]) -> None:
        """`given` is what the rule is of: in the body of a loop it differs from step to step."""
        super().__init__(self._of_the_step)
        self.given = given

    def _of_the_step(self, device: str) -> UOp:
        for x in self.given:
            if x is None or 0 in x.shape or all(u.op is not Ops.PARAM for u in x.toposort(enter_calls=False)):
                continue
            one: UOp = x.shrink(tuple((0, 1) for _ in x.shape)).reshape(()).ne(0).cast(TOKEN)
            return on_device(one, device)
        return nothing_done(device)

    def collected(self) -> AbstractContextManager[object]:
        """While the rule runs."""
        return collected(self) if is_through_a_body() else nullcontext()

    def before_use(self, xs: Sequence[UOp | None]) -> list[UOp | None]:
        """The results of the rule, for which what it must do is done before."""
        if self.token is None:
            return list(xs)
        is_done = self.token < 2  # which nobody can work out before
        return [None if x is None else is_done.where(x, x.const_like(0)) for x in xs]
