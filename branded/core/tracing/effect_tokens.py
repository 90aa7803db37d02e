"""Effect tokens: host callbacks and prints in a traced body run in order, even if no result depends on them.

A traced body has no values yet, so its effects become part of its graph: its `token` is a value that is computed only
after all of its effects.  Each effect takes the previous token and returns the next one, so effects run in order.  The
token of a loop's body is a carry of the loop, and the token of a compiled function is a result of its program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, UOp

from branded.graph.scope import Row, Scope, open_brands
from branded.graph.uops import on_device
from branded.tinygrad_compat.context_stack import ContextEntry, ContextStack

TOKEN = dtypes.uint8


def nothing_done(device: str) -> UOp:
    """Return the initial token, before any effect."""
    return on_device(UOp.const(0, TOKEN), device)


class Body:
    """A body during tracing, with its effects."""

    def __init__(self, start: Callable[[str], UOp] | None = None) -> None:
        """Start without effects; `start` returns the first effect's token on a device."""
        self.outer: Row = open_brands()
        """The open brands around the body: its values may be batched over them, and it runs for all of them."""
        self.start = start or nothing_done
        self.flags = len(_flags.get())
        """The number of enclosing branches."""
        self.first: UOp | None = None
        self.token: UOp | None = None
        """The token of the last effect, or None without effects."""

    def before(self, device: str) -> UOp:
        """Return the token for the next effect."""
        if self.token is None:
            self.first = self.token = self.start(device)
        return self.token


class Effect(NamedTuple):
    """The effects of a loop's body: the token as a parameter, and the token after a step."""

    param: UOp
    next: UOp


_bodies: ContextStack[Body] = ContextStack("branded_effects")
_refusals: ContextStack[str] = ContextStack("branded_without_effects")
_flags: ContextStack[UOp] = ContextStack("branded_flags")
_through: ContextStack[None] = ContextStack("branded_through_a_body")
_looked_at: ContextStack[None] = ContextStack("branded_looked_at")
_steps: ContextStack[Mapping[UOp, Scope]] = ContextStack("branded_places")


def collect_effects(body: Body) -> ContextEntry[Body]:
    """Return a block in which `body` is traced."""
    return _bodies.during(body)


def body() -> Body | None:
    """Return the body that is being traced, or None if no body is."""
    bodies = _bodies.get()
    return bodies[-1] if bodies else None


def given_to(places: Mapping[UOp, Scope]) -> ContextEntry[Mapping[UOp, Scope]]:
    """Return a block for tracing a loop's body, or a rule in it; `places` are the placeholders of the step's values."""
    return _steps.during(places)


def places() -> dict[UOp, Scope]:
    """Return the placeholders of the enclosing steps, with the scopes of their loops."""
    return {place: steps for table in _steps.get() for place, steps in table.items()}


def under_predicate(flag: UOp) -> ContextEntry[UOp]:
    """Return a block for a branch that not all examples take: its effects are restricted to examples with this flag."""
    return _flags.during(flag)


def flags() -> tuple[UOp, ...]:
    return _flags.get()


def gate() -> UOp | None:
    """Return the joint condition of the branches between a loop and the enclosing body; None without branches."""
    around = body()
    conditions = flags()[around.flags if around is not None else 0 :]
    return functools.reduce(lambda a, b: a & b, conditions) if conditions else None


def before(around: Body | None, device: str) -> UOp:
    """Return the token for the next effect; `around` is the body being traced."""
    return nothing_done(device) if around is None or is_only_looked_at() else around.before(device)


def without_effects(why: str) -> ContextEntry[str]:
    """Return a block in which effects are rejected: a program may run any number of times."""
    return _refusals.during(why)


def refusal() -> str | None:
    refusals = _refusals.get()
    return refusals[-1] if refusals else None


def derivative_block(is_rule: bool) -> AbstractContextManager[object]:
    """Return a block for the derivative of a call; in the derivative of a traced body, a rule has no values."""
    return nullcontext() if is_rule else _through.during(None)


is_through_a_body = _through.any_open
"""Whether the derivative of an already traced body is being taken."""


def only_looked_at() -> ContextEntry[None]:
    """Return a block in which a custom rule runs only to inspect its results, so its effects are skipped."""
    return _looked_at.during(None)


is_only_looked_at = _looked_at.any_open
"""Whether such a rule is running."""


class RuleBody(Body):
    """A rule for an already traced body: its effects run where the body runs, if the rule's results are used."""

    def __init__(self, given: Sequence[UOp | None]) -> None:
        """Start without effects; `given` are the rule's inputs, which differ from step to step in a loop's body."""
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
        """Return a block in which the rule runs."""
        return collect_effects(self) if is_through_a_body() else nullcontext()

    def before_use(self, xs: Sequence[UOp | None]) -> list[UOp | None]:
        """Return the rule's results, with a dependency on its token so that its effects run first."""
        if self.token is None:
            return list(xs)
        is_done = self.token < 2  # not computable before the effects
        return [None if x is None else is_done.where(x, x.const_like(0)) for x in xs]
