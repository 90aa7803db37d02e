"""Effects in loops, such as prints: the token of the body is a carry, so that effects run in the order of the steps."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from tinygrad import Tensor
from tinygrad.uop.ops import Ops, UOp

from branded.control_flow.loop_primitive import Loop
from branded.control_flow.scan import ScanLoop
from branded.control_flow.while_loop import WhileLoop
from branded.core.boundary import batch_values, enter_all
from branded.core.tracing.body import Traced
from branded.core.tracing.effect_tokens import Body, before, body, is_only_looked_at
from branded.core.tracing.step import Carry
from branded.dispatch import Pass
from branded.errors import UnsupportedError
from branded.graph.primitive import primitive_of
from branded.graph.rows import has_brand, row_of, visible
from branded.graph.scope import Row, union
from branded.graph.tags import is_leaf, untag
from branded.graph.uops import replace_ops, tensor
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.activation import in_engine
from branded.tinygrad_compat.private_api import reduce_axes


def with_effect(api_name: str, traced: Traced, loop: ScanLoop | WhileLoop) -> list[UOp]:
    """Build a loop that performs the effects of its body, and return its results."""
    if traced.effect is None:
        return loop.build()
    around, (param, new) = body(), traced.effect
    first = before(around, param.device)
    values = loop.build([Carry(param, first, new)])
    if reach_a_leaf(values):
        # a derivative may run the loop again, so a separate loop outside of any derivative has the effects
        if param in UOp.sink(*traced.leaves).toposort():
            raise UnsupportedError(
                f"{api_name}: a derivative would run the loop again, and its callback must run once",
                fix="use pure_callback, or call io_callback before the loop and pass its results as xs",
            )
        outs = loop.build()
        perform_once(around, values[-1:])
        return outs
    return perform_once(around, values)


def reach_a_leaf(us: Sequence[UOp]) -> bool:
    """Return whether one of these values is being differentiated."""
    graph = UOp.sink(*us).toposort(lambda u: u.op is not Ops.DETACH)
    return any(map(is_leaf, graph))


def own_brands(us: Sequence[UOp], around: Body | None) -> Row:
    """Return the brands of these values that were opened within the traced body."""
    row: Row = functools.reduce(union, (visible(row_of(u)) for u in us), ())
    return tuple(b for b in row if around is None or b not in around.outer)


def perform_once(around: Body | None, values: Sequence[UOp]) -> list[UOp]:
    """Perform the effects of a computation once; its last value is the token, and the others are returned.

    All values are closed in one pass, so that they belong to one call.
    """
    if is_only_looked_at():
        return list(values[:-1])
    if around is None:
        return perform(values)[:-1]
    brands = own_brands(values, around)
    *closed, token = Pass(brands).run(values, {}, has_brand)
    axes = tuple(range(len(token.uop.shape)))  # the calls for all examples share one token
    around.token = reduce_axes(token.uop, Ops.MAX, axes) if axes else token.uop
    return [enter_all(x.uop, x.row) for x in closed]


def calls_of(token: UOp | None) -> set[UOp]:
    """Return the calls that a token depends on.

    Values of these calls must stay unchanged, because a rewritten call would be a second call.
    """
    calls = set[UOp]()
    while token is not None:
        while token.op is not Ops.GETTUPLE:
            if not token.src:
                return calls
            token = token.src[0]
        call = token.src[0]
        calls.add(call)
        token = call.src[1 + token.arg] if isinstance(primitive_of(call), Loop) else call.src[-1]
    return calls


def perform(us: Sequence[UOp]) -> list[UOp]:
    """Evaluate the values now."""
    done = batch_values(us)
    untagged = replace_ops([x.uop for x in done], untag)
    return [enter_all(u, x.row) for u, x in zip(_materialize(untagged), done, strict=True)]


@in_engine
def _materialize(us: Sequence[UOp]) -> list[UOp]:
    """Materialize the values.

    tinygrad's `realize` renames evaluated UOps in the graphs of all tensors, but not in graphs held by an active
    transform. The transform would then no longer recognize its leaves. So UOps are renamed in one case only: a value
    contains a write into memory that it also reads, and this write must not run again.
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
    """Return whether a value reads memory as it was before any write."""
    return memory in value.toposort(lambda u: u.op is not Ops.AFTER)
