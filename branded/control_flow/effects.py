"""Effects of loops: what the body must do is a carry of the loop, and the loop an effect of what is around it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from tinygrad import Tensor
from tinygrad.uop.ops import Ops, UOp

from branded.control_flow.primitive import Loop
from branded.core.boundary import closed, enter_all
from branded.core.tracing.body import Traced
from branded.core.tracing.effect_tokens import Body, before, body, is_only_looked_at
from branded.core.tracing.step import Carry
from branded.dispatch import Pass
from branded.errors import UnsupportedError
from branded.graph.primitive import primitive_of
from branded.graph.rows import is_leaf, is_marked, is_touched, row_of, visible
from branded.graph.scope import Row, union
from branded.graph.uops import replaced, tensor
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.private_api import reduced
from branded.tinygrad_compat.tinygrad_lock import serial


def with_effect(what: str, traced: Traced, run: Callable[[list[Carry]], list[UOp]]) -> list[UOp]:
    """What a loop gives; `run` makes it, with more carries, whose last values come behind its results."""
    if traced.effect is None:
        return run([])
    around, (param, new) = body(), traced.effect
    first = before(around, param.device)
    made = run([Carry(param, first, new)])
    if reach_a_leaf(made):
        # a derivative may run it again: what it does is done by a loop that no derivative goes through
        if param in UOp.sink(*traced.leaves).toposort():
            raise UnsupportedError(
                f"{what}: a derivative would run the loop again, and a callback in it is to run once",
                fix="pure_callback; or the values of io_callback before the loop, as its xs",
            )
        outs = run([])
        done(around, made[-1:])
        return outs
    return done(around, made)


def reach_a_leaf(us: Sequence[UOp]) -> bool:
    """Is a derivative taken of these?"""
    graph = UOp.sink(*us).toposort(lambda u: u.op is not Ops.DETACH)
    return any(map(is_leaf, graph))


def own_brands(us: Sequence[UOp], around: Body | None) -> Row:
    """The brands over which these vary that were opened within the body that is traced."""
    row: Row = functools.reduce(union, (visible(row_of(u)) for u in us), ())
    return tuple(b for b in row if around is None or b not in around.outer)


def done(around: Body | None, made: Sequence[UOp]) -> list[UOp]:
    """What something gives that must be done, of which the last is the token: the same, done once for all of it.

    All are closed in one pass, so that they are of one call.
    """
    if is_only_looked_at():
        return list(made[:-1])
    if around is None:
        return perform(made)[:-1]
    own = own_brands(made, around)
    *closed, token = Pass(own).run(made, {}, is_touched)
    axes = tuple(range(len(token.uop.shape)))  # of the calls for all examples there is one token
    around.token = reduced(token.uop, Ops.MAX, axes) if axes else token.uop
    return [enter_all(x.uop, x.row) for x in closed]


def calls_of(token: UOp | None) -> set[UOp]:
    """The calls that are done for a token: a value of one of these is of this call, and of no other like it."""
    found = set[UOp]()
    while token is not None:
        while token.op is not Ops.GETTUPLE:
            if not token.src:
                return found
            token = token.src[0]
        call = token.src[0]
        found.add(call)
        token = call.src[1 + token.arg] if isinstance(primitive_of(call), Loop) else call.src[-1]
    return found


def perform(us: Sequence[UOp]) -> list[UOp]:
    """The same values, worked out now."""
    done = closed(us)
    found = replaced([x.uop for x in done], lambda u: u.src[0] if is_marked(u) else None)
    return [enter_all(u, x.row) for u, x in zip(_worked_out(found), done, strict=True)]


@serial
def _worked_out(us: Sequence[UOp]) -> list[UOp]:
    """The same values in memory.

    tinygrad's `realize` renames what it has worked out in the graphs of all tensors, but not in those that a transform
    at work here holds, which would not know their own leaves again.  So nothing is renamed, but where it must be: what
    writes into a value that it reads may not run again.
    """
    sink = UOp.sink(*us)
    if any(u.op is Ops.STORE and _reads(u.src[1], u.src[0].base) for u in sink.toposort()):
        ts = [tensor(u) for u in us]
        Tensor.realize(*ts)
        return [t.uop for t in ts]
    big, became = private_api.transform_to_call(sink)
    linear, vals = private_api.create_linear_with_vars(big)
    private_api.run_linear(linear, vals)
    return list(sink.substitute(became, walk=True).src)


def _reads(value: UOp, memory: UOp) -> bool:
    """Does a value read memory as it was before any write?"""
    return memory in value.toposort(lambda u: u.op is not Ops.AFTER)
