"""Merge steps of a scan into one body (`unroll=`, fewer kernels) or an inner scan (`checkpoint=`, less memory)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tinygrad import Tensor
from tinygrad.dtype import strong_dtype

from branded import tree
from branded.core.tracing.body import State, all_carried
from branded.core.validation.arguments import as_int, call_checked
from branded.errors import SizeError
from branded.tree.formatting import short_repr

Scan = Callable[[Callable[[Any, Any], Any], Any, Any, int, bool], Any]


def times(api_name: str, unroll: Any, steps: int, name: str = "unroll", all_of_them: int | None = None) -> int:
    """Return how many steps are merged into one."""
    whole = steps if all_of_them is None else all_of_them
    n = whole if unroll is True else 1 if unroll is False or unroll is None else as_int(unroll)
    if n is None or (n < 1 and unroll is not True):
        fix = "pass an int of 1 or more, or True for " + (
            "all" if all_of_them is None else "the square root of their number"
        )
        raise SizeError(f"{api_name}: {name}={short_repr(unroll)} is not a number of steps", fix=fix)
    return min(n, steps)


def checkpoint_scan(
    api_name: str,
    scan: Scan,
    inner: Scan,
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any,
    steps: int,
    reverse: bool,
    every: Any,
) -> Any:
    """Run a scan of scans of `k` steps, so that reverse mode keeps only the carry before each inner scan.

    of 10,000 steps             100 carries, and 100 more while one of the inner loops is recomputed
    """
    k = times(api_name, every, steps, "checkpoint", math.isqrt(steps))
    if k < 2 or k == steps:
        return inner(f, init, xs, steps, reverse)

    def several(carry: Any, block: Any) -> Any:
        return inner(f, carry, block, k, reverse)

    return _in_blocks(api_name, scan, f, several, init, xs, steps, reverse, k)


def unroll_scan(
    api_name: str, scan: Scan, f: Callable[[Any, Any], Any], init: Any, xs: Any, steps: int, reverse: bool, unroll: Any
) -> Any:
    """Run a scan that merges `k` steps into one, and then the remaining steps.

    of 7 steps, 3 at a time     x0 x1 x2 | x3 x4 x5      then x6
    in reverse                  x4 x5 x6 | x1 x2 x3      then x0: the last entries are processed first
    """
    k = times(api_name, unroll, steps)
    if k < 2:
        return scan(f, init, xs, steps, reverse)
    return _in_blocks(api_name, scan, f, _several(api_name, f, init, k, reverse), init, xs, steps, reverse, k)


def _in_blocks(
    api_name: str,
    scan: Scan,
    f: Callable[[Any, Any], Any],
    several: Callable[[Any, Any], Any],
    init: Any,
    xs: Any,
    steps: int,
    reverse: bool,
    k: int,
) -> Any:
    done = steps // k * k
    whole = [x.cast(strong_dtype(x.dtype)) for x in all_carried(xs, f"{api_name}: xs")]
    cut = steps - done if reverse else done
    early, late = ([x[:cut] for x in whole], [x[cut:] for x in whole])
    main, rest = (late, early) if reverse else (early, late)
    if done == k:
        state = State(api_name, init)
        while True:
            out = several(state.rebuilt(state.first()), tree.rebuild(xs, iter(main)))
            if not _is_pair(out) or _types(out[0]) != _types(init):
                return scan(f, init, xs, steps, reverse)  # the scan reports the problem
            last = all_carried(out[0], f"{api_name}: the carry")
            if state.settle_types([t.uop for t in last], state.rows):
                break
        carry, ys = state.last(last), tree.map(lambda y: y.cast(strong_dtype(y.dtype)), out[1])
    else:
        blocks = tree.rebuild(xs, iter([x.reshape(done // k, k, *x.shape[1:]) for x in main]))
        carry, ys = scan(several, init, blocks, done // k, reverse)
        ys = tree.map(lambda y: y.flatten(0, 1), ys)
    if done == steps:
        return carry, ys
    carry, others = scan(f, tree.map(_as_it_began, carry, init), tree.rebuild(xs, iter(rest)), steps - done, reverse)
    return carry, tree.map(lambda y, z: z.cat(y) if reverse else y.cat(z), ys, others)


def _several(
    api_name: str, f: Callable[[Any, Any], Any], init: Any, k: int, reverse: bool
) -> Callable[[Any, Any], Any]:
    """Return a body of `k` steps over a block of entries of xs."""
    types = _types(init)

    def several(carry: Any, block: Any) -> Any:
        ys = []
        for j in reversed(range(k)) if reverse else range(k):
            x = tree.map(lambda v, j=j: v[j], block)
            out = call_checked(f, (carry, x), {}, api_name, "a function of the carry and of one entry of xs")
            if not _is_pair(out) or _types(out[0]) != types:
                return out  # the caller rejects it like the result of one step
            carry = out[0]
            ys.append(out[1])
        return carry, tree.map(_stack, *(ys[::-1] if reverse else ys))

    return several


def _is_pair(out: Any) -> bool:
    return isinstance(out, tuple) and len(out) == 2


def _types(x: Any) -> tuple[Any, ...]:
    """Return the treedef key of a tree, and the shapes of its tensors."""
    return tree.treedef_key(x), [None if (t := tree.as_tensor(v)) is None else t.shape for v in tree.leaves(x)]


def _as_it_began(c: Tensor, first: Any) -> Tensor:
    """Restore the weak dtype of a carry between two loops, if it began as a Python number."""
    t = tree.as_tensor(first)
    return c if t is None or c.dtype != strong_dtype(t.dtype) else c.cast(t.dtype)


def _stack(*ys: Any) -> Tensor:
    ts = [t for y in ys if (t := tree.as_tensor(y)) is not None]
    return ts[0].stack(*ts[1:])
