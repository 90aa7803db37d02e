"""Host callbacks with side effects: they run once for each example and step, even if no result is used."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import UOp

from branded.callbacks import host
from branded.callbacks.host import Host, ShapeDtype
from branded.control_flow.effects import calls_of, own_brands, perform_once, reach_a_leaf
from branded.core.boundary import batch_values, enter_all
from branded.core.sharding.resharding import on_one
from branded.core.tracing.effect_tokens import TOKEN, Body, before, body, flags, is_through_a_body, refusal
from branded.core.tracing.predication import predicate
from branded.errors import DerivativeError, UnsupportedError
from branded.graph.scope import in_call_body
from branded.tinygrad_compat.private_api import _function, canonicalize_device


def effect(api_name: str, f: Any, types: Sequence[ShapeDtype], args: Sequence[UOp], *, one_by_one: bool) -> list[UOp]:
    """Call `f` for each example: immediately or, in a traced body, each time the body runs.

    It is called for all examples of the brands opened inside the traced body, and returns their results. The rules of
    the body handle the brands around it. With `one_by_one`, any open brand raises an error.
    """
    _check(api_name, types, args)
    around = body()
    guard = _branch_flag()
    operands = list(args) if guard is None else [guard, *_predicate_args(args, guard, around)]
    if one_by_one and (row := own_brands(operands, None)):
        raise host.no_order(api_name, row)
    brands = own_brands(operands, around)
    if any(not b.size for b in brands):
        return [UOp.const(0, t.dtype).expand(t.shape) for t in types]
    device = next((x.device for x in args if isinstance(x.device, str)), canonicalize_device(None))
    call = Host(api_name, f, "sequential", True, is_effect=True, is_ordered=one_by_one, is_guarded=guard is not None)
    token = before(around, device)
    # one call handles all examples, so its arguments are gathered on one device
    ones = [on_one(host.expand_to_row(x, brands), device) for x in batch_values(operands, brands)]
    sizes = tuple(b.size for b in brands)
    of_all = [t._replace(shape=(*sizes, *t.shape)) for t in (*types, ShapeDtype((), TOKEN))]
    outs = perform_once(around, [*host.call_on_graphs(call.over(brands), of_all, [*ones, token])])
    return [enter_all(y, brands) for y in outs]


def _check(api_name: str, types: Sequence[ShapeDtype], args: Sequence[UOp]) -> None:
    where = refusal()
    if where is None and _function.depth:
        where = "the body of a @function"
    if where is None and types and in_call_body():
        where = "a function with a custom rule"
    if where is None and types and is_through_a_body():
        where = "a rule that runs for the body of a loop, a checkpoint or a @function"
    if where is not None:
        raise UnsupportedError(
            f"{api_name}: the number of its runs is undefined in {where}",
            fix="call it outside, or use pure_callback, which may run any number of times",
        )
    if any(dtypes.is_float(t.dtype) for t in types) and reach_a_leaf(args):
        raise DerivativeError(
            f"{api_name}: a host callback has no derivative",
            fix="apply stop_gradient to its arguments, or wrap a pure_callback in custom_jvp",
        )


def _branch_flag() -> UOp | None:
    """Return a flag that is true if all branches around the call are taken, or None outside of branches."""
    return functools.reduce(operator.and_, branch_flags) if (branch_flags := flags()) else None


def _predicate_args(args: Sequence[UOp], flag: UOp, around: Body | None) -> list[UOp]:
    """Predicate the arguments by the flag, except effects before them, which are already predicated."""
    return predicate(args, flag, done=calls_of(around.token) if around is not None else ())
