"""Loops: scan, fori_loop, while_loop and map. The body is traced and compiled once, for any number of steps."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast, overload

from tinygrad import Tensor, dtypes
from tinygrad.dtype import strong_dtype
from tinygrad.uop.ops import UOp

from branded import tree
from branded.control_flow.frontend import check_functions, length_of, record_loop, run_scan, run_while
from branded.control_flow.loop_primitive import step_numbers
from branded.core.brand import Brand
from branded.core.entry import entry
from branded.core.tracing import recording
from branded.core.tracing.body import all_carried, live_carry
from branded.core.validation.arguments import as_int, call_checked, check_flag
from branded.core.values import vec_type
from branded.core.vmap import vmap
from branded.errors import CarryError, SizeError
from branded.graph.uops import tensor
from branded.tinygrad_compat.private_api import least_upper_dtype
from branded.vec import Vec

C = TypeVar("C")
X = TypeVar("X")
Y = TypeVar("Y")
S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)


@overload
def scan(
    f: Callable[[C, X], tuple[C, Y]],
    init: C,
    xs: X,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    *,
    checkpoint: int | bool = False,
    progress: bool = False,
) -> tuple[C, Y]: ...
@overload
def scan(
    f: Callable[[C, None], tuple[C, Y]],
    init: C,
    xs: None = None,
    *,
    length: int,
    reverse: bool = False,
    unroll: int | bool = 1,
    checkpoint: int | bool = False,
    progress: bool = False,
) -> tuple[C, Y]: ...
@entry
def scan(
    f: Any,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    *,
    checkpoint: int | bool = False,
    progress: bool = False,
) -> Any:
    """Run the loop `for x in xs: carry, y = f(carry, x)`, and return the last carry and the stacked ys.

    The body is traced once and compiled once, whatever the number of steps.

    Args:
        f: `f(carry, x) -> (carry, y)`, of trees of tensors; `y` may be None.
        init: The initial carry.
        xs: A tree of tensors with the steps along axis 0, or None.
        length: The number of steps; needed only if `xs` is None.
        reverse: Run from the last step to the first; the ys are stacked in the order of `xs`.
        unroll: The number of steps to trace and compile as one, for fewer kernel launches of small steps. True unrolls
            all steps, without a loop.
        checkpoint: The distance between the carries that reverse mode keeps; it recomputes the carries in between. True
            is the square root of the number of steps; memory is then about twice the square root.
        progress: Evaluate now, a hundredth of the steps at a time, with a progress bar on a terminal. It is ignored
            inside another transform.

    Returns:
        `(carry, ys)`: the carry after the last step, and a tree like `y` with a leading axis of the steps.

    Raises:
        CarryError: A step changes the tree, shape or dtype of the carry (the message names the leaf).
        SizeError: The xs disagree about the number of steps, the number of steps is unknown, or `unroll` or
            `checkpoint` is not a number of steps.
        ReadError: The body, which is traced once for all steps, reads a value.

    Example:
        >>> from branded import scan
        >>> from tinygrad import Tensor
        >>> total, sums = scan(lambda c, x: (c + x, c + x), Tensor(0.0), Tensor([1.0, 2.0, 3.0]))
        >>> total.item(), sums.tolist()
        (6.0, [1.0, 3.0, 6.0])

    Source: `jax.lax.scan`.
    """
    check_flag(progress, "progress")
    init = _arrays(init)
    with recording.record_structure() as structure:
        # the IR records the computation, not how it runs
        options: Any = {"unroll": unroll, "checkpoint": checkpoint, "progress": progress} if structure is None else {}
        out = run_scan("scan", f, init, xs, length, reverse, **options)
        if structure is not None:
            values, ys = tree.leaves(init), tree.leaves(xs)
            n = ys[0].shape[0] if length is None else length
            params: dict[str, Any] = {"length": n, "carries": len(values)} | ({"reverse": True} if reverse else {})
            record_loop(structure, "scan", [*values, *ys], out, lambda body: {"f": body}, params=params)
    return out


def _arrays(init: Any) -> Any:
    """Cast `Tensor(0)` in the initial carry to int32, as in JAX; otherwise it would count as a Python number."""

    def array(x: Any) -> Any:
        is_number = isinstance(x, Tensor) and x.dtype in dtypes.weaks and x.uop.device is None
        return tensor(x.uop.cast(strong_dtype(x.dtype))) if is_number else x  # no operation of the program

    return tree.rebuild(init, iter([array(x) for x in tree.leaves(init)]))


@overload
def fori_loop(
    lower: int, upper: int, body_fun: Callable[[Tensor, C], C], init_val: C, *, unroll: int | bool | None = None
) -> C: ...
@overload
def fori_loop(
    lower: int | Vec[S],
    upper: int | Vec[S1],
    body_fun: Callable[[Vec[S | S1], C], C],
    init_val: C,
    *,
    unroll: None = None,
) -> C: ...
@entry
def fori_loop(lower: Any, upper: Any, body_fun: Any, init_val: Any, *, unroll: int | bool | None = None) -> Any:
    """Run the loop `for i in range(a, b): x = f(i, x)`, for `fori_loop(a, b, f, x)`.

    Args:
        lower: The first `i`: an int, or an int tensor, which may be batched.
        upper: The exclusive end of `i`: an int, or an int tensor.
        body_fun: `f(i, x) -> x`. If `lower` is an int, `i` is a Python int, which takes the dtype of its operands; if
            `lower` is a tensor, `i` has the dtype of the bounds.
        init_val: The initial `x`, a tree of tensors.
        unroll: The number of steps to compile as one, as in `scan`; only for int bounds.

    Returns:
        The last `x`. With int bounds the loop is a `scan`, which supports forward and reverse mode. With tensor bounds
        it is a `while_loop`, which supports forward mode.

    Raises:
        CarryError: A step changes the tree, shape or dtype of the carry (the message names the leaf).
        SizeError: `unroll` is not a number of steps, or it is given with tensor bounds.

    Example:
        >>> from branded import fori_loop
        >>> from tinygrad import Tensor
        >>> fori_loop(1, 6, lambda i, x: x * i, Tensor(1)).item()
        120

    Source: `jax.lax.fori_loop`.
    """
    check_functions("fori_loop", body_fun=body_fun)
    init_val = _arrays(init_val)
    lower, upper = (_known_bound(b, name) for b, name in ((lower, "lower"), (upper, "upper")))
    step = functools.partial(_step, body_fun)
    with recording.record_structure() as structure:
        if isinstance(lower, int) and isinstance(upper, int):
            n = max(0, upper - lower)
            first = lower if structure is None else 0  # the IR has the bounds outside the body
            steps = tensor(step_numbers(n))
            if structure is not None:
                steps = Tensor.arange(lower, lower + n, dtype=dtypes.int32).cast(dtypes.weakint)
            k = 1 if unroll is None or structure is not None else unroll
            body_of = lambda x, i: (step(i.cast(dtypes.weakint) + first, x), None)  # noqa: E731
            out, _ = run_scan("fori_loop", body_of, init_val, steps, n, False, k)
            param_slice = slice(0, -1)
        else:
            if unroll is not None:
                raise SizeError(
                    "fori_loop: unroll needs bounds that are Python ints", fix="pass ints, or leave out unroll"
                )
            start, upper = _of_one_dtype(
                lower, *(_check_bound(x, name) for x, name in ((lower, "lower"), (upper, "upper")))
            )
            lower, until = _check_bound(start, "lower"), upper
            _, out = run_while(
                "fori_loop", lambda c: c[0] < until, lambda c: (c[0] + 1, step(c[0], c[1])), (start, init_val)
            )
            param_slice = slice(1, None)

        def body(b: recording.BodyRecord) -> dict[str, recording.BodyRecord]:
            if param_slice.start:  # a while loop, which carries the index and `x`
                return {"body_fun": b._replace(results=b.results[1:-1])}
            return {"body_fun": b._replace(params=(b.params[-1], *b.params[:-1]))}

        record_loop(structure, "fori_loop", tree.leaves(init_val), out, body, param_slice, (lower, upper))
    return out


def _step(body_fun: Callable[..., Any], i: Any, x: Any) -> Any:
    return call_checked(body_fun, (i, x), {}, "fori_loop", "a function of the number of the step and of the carry")


def _known_bound(x: Any, name: str) -> Any:
    """Return a bound known to Python as an int, after checking that it fits the int32 step index."""
    if (n := as_int(x)) is None:
        return Tensor(x).clone() if isinstance(x, UOp) else x  # a Variable: kept in memory, so that each run reads it
    if not dtypes.int32.min <= n <= dtypes.int32.max:
        raise CarryError(
            f"fori_loop: {name}={tree.short_repr(n)} is not an int32", fix="use bounds from -2**31 to 2**31 - 1"
        )
    return n


def _check_bound(x: Any, name: str) -> Tensor:
    b = live_carry(x, f"fori_loop: {name}")
    if b.shape or not (dtypes.is_int(b.dtype) or b.dtype == dtypes.bool):
        raise CarryError(f"fori_loop: {name} is {vec_type(b)}, not one int", fix="pass an int, or an int tensor i32[]")
    return b.cast(dtypes.int32) if b.dtype == dtypes.bool else b


def _of_one_dtype(raw_lower: Any, lower: Tensor, upper: Tensor) -> tuple[Any, Tensor]:
    """Cast the bounds to one dtype, which is the dtype of the step index; a Python int as lower bound stays one."""
    dtype = least_upper_dtype(strong_dtype(lower.dtype), strong_dtype(upper.dtype))
    is_number = lower.dtype in dtypes.weaks and dtype == dtypes.int32
    return raw_lower if is_number else lower.cast(dtype), upper.cast(dtype)


@entry
def map(f: Callable[[X], Y], xs: X, *, batch_size: int | None = None) -> Y:
    """Compute `stack([f(x) for x in xs])`, one example after the other, with the memory of one example.

    Args:
        f: A function of a tree of tensors.
        xs: A tree like its argument, each tensor with a leading axis of the examples.
        batch_size: The number of examples to process at a time, by vmap; 0 means None.

    Returns:
        A tree like the result of `f`, each tensor with a leading axis of the examples.

    Raises:
        SizeError: The xs disagree about the number of examples, or `batch_size` is not a size.

    Example:
        >>> from branded import map
        >>> from tinygrad import Tensor
        >>> map(lambda x: x.sum(), Tensor([[1, 2], [3, 4]])).tolist()
        [3, 7]

    Source: `jax.lax.map`.
    """
    check_functions("map", f=f)
    if batch_size is not None and (size := _batch_size(batch_size)):
        return cast(Y, _by_batches(f, xs, size))
    with recording.record_structure() as structure:
        _, out = run_scan("map", lambda _, x: (None, _one(f, x)), None, xs, None, False)
        record_loop(structure, "map", tree.leaves(xs), out, lambda body: {"f": body})
    return cast(Y, out)


def _one(f: Callable[..., Any], x: Any) -> Any:
    return call_checked(f, (x,), {}, "map", "a function of one entry of xs")


def _batch_size(batch_size: Any) -> int:
    if (size := as_int(batch_size)) is None or size < 0:
        raise SizeError(f"map: batch_size={tree.short_repr(batch_size)} is not a size", fix="pass an int of 1 or more")
    return size


def _by_batches(f: Callable[[Any], Any], xs: Any, size: int) -> Any:
    whole = all_carried(xs, "map: xs")
    n = length_of("map", whole, tree.paths(xs, "xs"), None)
    batch_size = min(size, max(n, 1))
    full = n // batch_size
    parts = [x[: full * batch_size].reshape(full, batch_size, *x.shape[1:]) for x in whole]
    rest = [x[full * batch_size :] for x in whole]
    _, out = run_scan("map", lambda _, x: (None, vmap(f)(x)), None, tree.rebuild(xs, iter(parts)), None, False)
    done = tree.rebuild(out, iter([y.flatten(0, 1) for y in tree.leaves(out)]))
    if n == full * batch_size:
        return done
    last = vmap(f)(tree.rebuild(xs, iter(rest)))
    if not full:
        return last
    return tree.rebuild(done, iter([a.cat(b) for a, b in zip(tree.leaves(done), tree.leaves(last), strict=True)]))


@entry
def while_loop(cond_fun: Callable[[C], Vec[Brand] | bool], body_fun: Callable[[C], C], init_val: C) -> C:
    """Run the loop `while go(x): x = f(x)`, for `while_loop(go, f, x)`.

    Under vmap it runs until the last example is done; an example that is done keeps its state.

    Args:
        cond_fun: `go(x) -> bool[]`.
        body_fun: `f(x) -> x`.
        init_val: The initial `x`, a tree of tensors.

    Returns:
        The first `x` for which `go` is false.

    Raises:
        CarryError: A step changes the tree, shape or dtype of the carry (the message names the leaf).
        DerivativeError: Reverse mode is used; only forward mode is supported.

    Example:
        >>> from branded import vmap, while_loop
        >>> from tinygrad import Tensor
        >>> vmap(lambda x: while_loop(lambda c: c < 100.0, lambda c: c * 2, x))(Tensor([1.0, 150.0, 3.0])).tolist()
        [128.0, 150.0, 192.0]

    Source: `jax.lax.while_loop`.
    """
    init_val = _arrays(init_val)
    with recording.record_structure() as structure:
        out: C = run_while("while_loop", cond_fun, body_fun, init_val)
        record_loop(structure, "while_loop", tree.leaves(init_val), out, _go_and_step)
    return out


def _go_and_step(body: recording.BodyRecord) -> dict[str, recording.BodyRecord]:
    """Return the recorded condition and step of a while loop, from its body, which contains both."""
    *carry, go = body.results
    return {"cond_fun": body._replace(results=(go,)), "body_fun": body._replace(results=tuple(carry))}
