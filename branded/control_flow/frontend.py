"""The pytree front end of scan and while loops: check, trace and run functions of trees."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import strong_dtype

from branded import tree
from branded.control_flow.effects import with_effect
from branded.control_flow.progress_scan import by_parts
from branded.control_flow.scan import ScanLoop
from branded.control_flow.unroll import checkpoint_scan, unroll_scan
from branded.control_flow.while_loop import WhileLoop
from branded.core.tracing import recording
from branded.core.tracing.body import State, Traced, all_carried
from branded.core.tracing.effect_tokens import without_effects
from branded.core.tracing.state import is_deferred
from branded.core.tracing.step import Input
from branded.core.validation.arguments import as_int, call_checked
from branded.core.values import vec_type
from branded.errors import CarryError, SizeError
from branded.graph.uops import tensor
from branded.tinygrad_compat.lazy_numpy import np


def check_functions(api_name: str, **functions: Any) -> None:
    for name, f in functions.items():
        if not callable(f):
            raise CarryError(f"{api_name}: {name} is {tree.describe(f)}, not a function", fix="pass a function")


def run_scan(
    api_name: str,
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any,
    length: int | None,
    reverse: bool,
    unroll: int | bool = 1,
    checkpoint: int | bool = False,
    progress: bool = False,
) -> Any:
    """Run `scan` with the user's options: as one loop, an unrolled loop, or a checkpointed loop of loops."""
    check_functions(api_name, f=f)
    if is_shown := progress and not is_deferred():
        checkpoint = False  # evaluated values have no derivative
    if checkpoint is not False:
        entries = all_carried(xs, f"{api_name}: xs")
        n = length_of(api_name, entries, tree.paths(xs, "xs"), length)
        outer, inner = (functools.partial(run_scan, api_name, unroll=u) for u in (1, unroll))
        # in the outer loop's body a Python number is a tensor, whose value the inner loop does not know
        if any(isinstance(x, bool | int | float) for x in tree.leaves(init)):
            state = State(api_name, init)
            _trace_steps(api_name, f, state, xs, entries)
            init = state.rebuilt(state.first())
        return checkpoint_scan(api_name, outer, inner, f, init, xs, n, reverse, checkpoint)
    if unroll is not False and (unroll is True or unroll != 1):
        n = length_of(api_name, all_carried(xs, f"{api_name}: xs"), tree.paths(xs, "xs"), length)
        run = functools.partial(run_scan, api_name, progress=is_shown)
        return unroll_scan(api_name, run, f, init, xs, n, reverse, unroll)
    return _in_steps(api_name, f, init, xs, length, reverse, is_shown)


def _trace_steps(
    api_name: str, f: Callable[[Any, Any], Any], state: State, xs: Any, entries: Sequence[Tensor]
) -> Traced:
    """Trace one step until the types of the carry agree."""

    def body(leaves: list[Tensor]) -> tuple[Any, list[Tensor]]:
        k = len(state.given)
        carry, x = state.rebuilt(leaves[:k]), tree.rebuild(xs, iter(leaves[k:]))
        pair = call_checked(f, (carry, x), {}, api_name, "a function of the carry and of one entry of xs")
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise CarryError(
                f"{api_name}: the body returned {tree.outline(pair)}, not a pair",
                fix="return a pair: (carry, output), with None for no output",
            )
        outputs = all_carried(pair[1], f"{api_name}: the output")
        for y in outputs:
            tree.check_fits(y, y.dtype, f"{api_name}: the output")
        return pair[1], [*state.check_carry(pair[0]), *outputs]

    return state.trace_until_settled(body, entries)


def _in_steps(
    api_name: str, f: Callable[[Any, Any], Any], init: Any, xs: Any, length: int | None, reverse: bool, is_shown: bool
) -> Any:
    """Run one loop whose body is traced once. Example: f(c, x) -> (d, y), with one tensor in each tree.

    traced.params    [c, x]      inputs    x represents an entry of xs
    traced.leaves    [d, y]      done      [the last d, all y]
    """
    state = State(api_name, init)
    entries = all_carried(xs, f"{api_name}: xs")
    whole = [x.cast(strong_dtype(x.dtype)) for x in entries]
    n = length_of(api_name, whole, tree.paths(xs, "xs"), length)

    traced, k = _trace_steps(api_name, f, state, xs, entries), len(state.given)
    inputs = [Input(p, x.uop) for p, x in zip(traced.params[k:], whole, strict=True)]
    loop = ScanLoop(state.carries(traced), inputs, traced.leaves[k:], n, reverse)
    if is_shown and n:
        done = by_parts(api_name, traced, loop)
    else:
        done = [tensor(x) for x in with_effect(api_name, traced, loop)]
    return state.last(done[:k]), tree.rebuild(traced.out, iter(done[k:]))


def record_loop(
    structure: recording.Unfinished | None,
    op: str,
    values: Sequence[Any],
    out: Any,
    bodies: Callable[[recording.BodyRecord], dict[str, recording.BodyRecord]],
    param_slice: slice = slice(None),
    bounds: Sequence[Any] = (),
    params: dict[str, Any] | None = None,
) -> None:
    """Record a loop in the IR as the original call; `param_slice` selects the body parameters for these values."""
    if structure is None or not structure.bodies:
        return
    body = structure.bodies[-1]
    pairs = zip(values, body.params[param_slice], strict=True)
    operands = [t.cast(p.dtype).uop for x, p in pairs if (t := tree.as_tensor(x)) is not None]
    heads = [x.uop if isinstance(x, Tensor) else x for x in bounds]
    structure.put(op, [*heads, *operands], params or {}, [y.uop for y in tree.leaves(out)], bodies(body))


def length_of(api_name: str, whole: Sequence[Tensor], paths: Sequence[str], length: Any) -> int:
    if length is not None:
        n = as_int(length)
        if n is None or not 0 <= n <= dtypes.int32.max:
            raise SizeError(
                f"{api_name}: length={tree.short_repr(length)} is not a number of steps",
                fix="pass an int from 0 to 2**31 - 1",
            )
        length = n
    first = ""
    for x, where in zip(whole, paths, strict=True):
        if not x.shape:
            raise SizeError(
                f"{api_name}: {where} is {vec_type(x)}: there is no axis of steps", fix="stack the steps along axis 0"
            )
        if length is None:
            length, first = x.shape[0], where
        elif x.shape[0] != length:
            raise SizeError(
                f"{api_name}: {where} has {x.shape[0]} steps, and {f'{first} has' if first else 'length is'} {length}",
                ("value", vec_type(x)),
                fix="use the same size along axis 0 for all of xs",
            )
    if length is None:
        raise SizeError(
            f"{api_name}: the number of steps is unknown", fix="pass xs with a leading axis of steps, or length=n"
        )
    return int(length)


def run_while(api_name: str, cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any) -> Any:
    check_functions(api_name, cond_fun=cond_fun, body_fun=body_fun)
    state = State(api_name, init)

    def body(leaves: list[Tensor]) -> tuple[None, list[Tensor]]:
        # the condition runs first, as the body may write into its argument
        fix = "pass functions of the carry only"
        with without_effects(f"{api_name}: the condition"):
            go = call_checked(cond_fun, (state.rebuilt(leaves),), {}, api_name, fix)
        new = call_checked(body_fun, (state.rebuilt(leaves),), {}, api_name, fix)
        if isinstance(go, bool | np.bool_):
            go = Tensor(bool(go))
        if not isinstance(go, Tensor) or go.shape or go.dtype != dtypes.bool:
            raise CarryError(
                f"{api_name}: the condition is {tree.outline(go)}, not a scalar bool",
                fix="return a scalar bool: use a comparison, .any() or .all()",
            )
        return None, [*state.check_carry(new), go]

    traced = state.trace_until_settled(body, goes_on=True)
    finals = with_effect(api_name, traced, WhileLoop(state.carries(traced), traced.leaves[-1]))
    return state.last([tensor(x) for x in finals])
