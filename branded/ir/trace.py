"""The trace of a function on arguments that have types but no values, from which its program is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded import tree
from branded.core.boundary import live_results
from branded.core.tracing import recording
from branded.core.tracing.body import LeafType
from branded.core.tracing.effect_tokens import Body, collect_effects
from branded.core.validation.arguments import call_checked
from branded.graph.scope import Scope, open_block
from branded.graph.tags import Level
from branded.graph.uops import tensor
from branded.ir import build


class Writing(Scope):
    """The scope in which a function is traced into a program: its arguments have types, but no values."""

    is_program = True
    turn = "call"

    def __init__(self, api_name: str, *, with_writes: bool) -> None:
        super().__init__(1, hint=lambda: api_name)
        self.recorded_writes = [] if with_writes else None


class ProgramTrace(NamedTuple):
    """The trace of a function on arguments that have types but no values."""

    frame: recording.Frame
    since: build.Since
    places: list[UOp]
    """The placeholders of the variables."""
    out: Any
    results: list[Tensor]
    has_token: bool
    """Whether the last result is the token of its effects."""
    has_writes: bool


def trace_calls(
    api_name: str,
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    leaves: Sequence[Any],
    values: Sequence[Tensor | None],
    *,
    with_writes: bool,
) -> ProgramTrace:
    """Run the function on placeholders of the leaves that have values, and record its calls."""
    # the effects run when the program is evaluated
    opening = open_block(Writing(api_name, with_writes=with_writes))
    with recording.record_frame() as frame, collect_effects(Body()) as must, opening as scope:
        since = build.Since(scope.number, Level().number)
        places = [LeafType.of(x.uop).placeholder(scope) for x in values if x is not None]
        variables = [tensor(p) for p in places]
        new = iter(variables)
        traced_leaves = iter([x if v is None else next(new) for x, v in zip(leaves, values, strict=True)])
        positional = [tree.rebuild(a, traced_leaves) for a in args]
        named = {k: tree.rebuild(a, traced_leaves) for k, a in kwargs.items()}
        out = call_checked(f, positional, named, api_name, "pass a function with one parameter per argument")
        written: list[Tensor] = []
        if scope.recorded_writes is not None:
            written = [*(x for x, p in zip(variables, places, strict=True) if x.uop is not p), *scope.recorded_writes]
            returned = {x.uop for x in tree.leaves(out) if isinstance(x, Tensor)}
            if new_values := [x for x in {x.uop: x for x in written}.values() if x.uop not in returned]:
                out = (out, new_values)
        token = [] if must.token is None else [tensor(must.token)]
        return ProgramTrace(
            frame, since, places, out, [*live_results(out, api_name), *token], bool(token), bool(written)
        )
