"""The boundary of a brand: how a value enters a brand and how it leaves it.

enter    INDEX(x, RANGE)    the value of one example: an axis of `x` becomes the brand
stage    STAGE(y, RANGE)    mark the brand as left, and batch later, because another brand is still open in `y`
leave    run the batching rules over the graph of `y`; the result has the examples as an axis, and no RANGE
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from tinygrad import Tensor
from tinygrad.dtype import DType, strong_dtype
from tinygrad.uop.ops import Ops, UOp

from branded import tree
from branded.core.sharding.layout import home_of, shard_examples
from branded.core.sharding.resharding import copied_to_all
from branded.core.tracing.recording import is_recording, record_operation
from branded.dispatch import Pass, close
from branded.errors import BrandedError, EscapeError, ProgramTypeError, WriteError
from branded.graph.primitive import Batched, Env
from branded.graph.rows import Leaving, check_live, has_brand, has_pending, info_of, left_brands, row_of, type_text
from branded.graph.scope import Row, Scope, brand_of
from branded.graph.uops import expand, lead, replace_ops, tensor
from branded.tinygrad_compat.private_api import _function, keep_axis, keep_device, keep_shape


def enter(x: UOp, b: Scope, axis: int = 0) -> UOp:
    """Return the value of one example: the axis `axis` of `x` becomes the brand."""
    if axis:
        x = UOp(Ops.PERMUTE, x.dtype, (x,), (axis, *(i for i in range(len(x.shape)) if i != axis)))
    out = UOp(Ops.INDEX, x.dtype, (x, b.range))
    keep_shape(out, x.shape[1:])
    if b.devices:
        keep_device(out, home_of(b))  # each example is on its own device
    return _keep_shards(x, out, -1) if info_of(x).sharded else out


def stage(y: UOp, b: Scope) -> UOp:
    """Mark `b` as left, with its examples as the leading axis; batching waits until all brands in `y` are left."""
    out = UOp(Ops.STAGE, y.dtype, (y, b.range), Leaving(y))
    return _keep_shards(y, out, 1) if info_of(y).sharded else out


def stack_examples(y: UOp, b: Scope) -> UOp:
    """Return the values of all examples of `b` by `stage`; a value that does not vary over `b` is repeated."""
    return stage(y, b) if b in row_of(y) else expand(y, (b.size,))


def _keep_shards(x: UOp, out: UOp, gained: int) -> UOp:
    """Set the sharded axis of `out`, which is `x` with `gained` more leading axes."""
    if (axis := x.axis) is not None:
        keep_axis(out, axis + gained if axis + gained >= 0 else None)
    return out


def enter_recorded(x: Tensor, b: Scope, axis: int) -> Tensor:
    """Call `enter`, and record it as an equation if `make_expr` is tracing."""
    if b.devices:
        x = shard_examples(x, b, axis)
    out = enter(x.uop, b, axis)
    if is_recording():
        params = {"devices": x.device} if isinstance(x.device, tuple) and x.uop.axis == axis else device_params(b)
        record_operation("enter", (x.uop,), {"brand": b, "axis": axis, **params}, (out,))
    return tensor(out)


def device_params(b: Scope) -> dict[str, tuple[str, ...]]:
    """Return the devices of the examples for a typed program, unless the body is traced for the same device."""
    return {"devices": b.devices} if b.devices and b.devices != (b.home,) else {}


def exit_brand(us: Sequence[UOp], b: Scope, axes: Sequence[int], repeat: int) -> list[UOp]:
    """Return the values of all examples, and record this as an equation if `make_expr` is tracing.

    A value that is not batched over `b` is repeated.
    """
    out = leave(us, b, axes, repeat)
    for u, axis, y in zip(us, axes, out, strict=True) if is_recording() else ():
        if repeat == b.size or b in row_of(u):
            record_operation("leave", (u,), {"brand": b, "axis": axis}, (y,))
    return out


def enter_all(x: UOp, brands: Iterable[Scope]) -> UOp:
    """Return the value of one example: the leading axes of `x` become these brands."""
    for b in brands:
        x = enter(x, b)
    return x


def copy_for_examples(x: UOp, brands: Iterable[Scope]) -> UOp:
    """Turn a shared value into a batched value, with one copy for each example of these brands."""
    for b in brands:
        x = enter(expand(x, (b.size,)), b)
    return x


def lower_unbatched(u: UOp) -> UOp:
    """Batch the graph of an unbatched value, which may contain brands that were left, such as those of collectives."""
    info = info_of(u)
    return batch_values([u])[0].uop if (info.has_brand or info.sharded) and not info.row else u


def drop_brand(u: UOp, brand: Scope) -> UOp:
    """Remove `brand` from the graph of a value that does not vary over it."""
    info = info_of(u)
    if _is_last(u, brand) or (info.sharded and not info.has_brand):
        return lower_unbatched(u)
    return Pass((brand,)).run([u], {}, has_brand)[0].uop if info.sibling_varies else u


def without_brand(y: Any, brand: Scope) -> Any:
    """Return a result that does not vary over `brand`, a tensor or any other leaf, without `brand` in its graph."""
    return tensor(u) if isinstance(y, Tensor) and (u := drop_brand(y.uop, brand)) is not y.uop else y


def _is_last(u: UOp, brand: Scope) -> bool:
    """Return whether `brand` is the only brand open in `u`.

    A brand that `y` has left but whose block is still open counts as open, because derivatives may still need it.  An
    open brand in the graph but not in the row counts too: a rule may need the argument of one step of a loop.
    """
    info = info_of(u)
    if not info.has_brand or info.row not in ((brand,), ()):
        return False
    pending = left_brands([u]) if info.has_pending else ()
    siblings = (brand_of(x) for x in u.toposort(has_brand) if x.op is Ops.RANGE) if info.sibling_varies else ()
    return not any(b is not None and b is not brand and b.is_open for b in (*pending, *siblings))


def leave(us: Sequence[UOp], brand: Scope, axes: Sequence[int], repeat: int) -> list[UOp]:
    """Return the values of all examples of `brand`, stacked along `axes`; a value that does not vary is repeated.

    If another brand is still open in a value, batching waits until that brand is closed.  So a graph is batched once,
    however deep vmaps are nested.  Only the body of a `@function` must be batched immediately.
    """
    last = [u for u in us if _is_last(u, brand)] if not is_recording() else []
    done = dict(zip(last, batch_values(last), strict=True)) if last else {}

    outs = []
    for u in us:
        if (x := done.get(u)) is not None:
            outs.append(x.uop if x.row else expand(x.uop, (repeat,)))
        else:
            outs.append(stage(u, brand) if brand in row_of(u) else expand(drop_brand(u, brand), (repeat,)))
    if _function.depth:
        outs = lower(outs)
    return [lead(u, (*range(1, axis + 1), 0)) for u, axis in zip(outs, axes, strict=True)]


def batch_values(us: Sequence[UOp], over: Row | None = None) -> list[Batched]:
    """Batch the values over the brands `over`, by default all; copy operands to the devices of sharded values."""
    out = close(us) if over is None else Pass(over).run(us, {}, has_brand)
    if not any(info_of(u).sharded for u in us):
        return out
    brands = dict.fromkeys((*(b for u in us for b in row_of(u)), *left_brands(us)))
    return [
        x._replace(uop=u) for x, u in zip(out, copied_to_all([x.uop for x in out], _one_device(brands)), strict=True)
    ]


def _one_device(brands: Iterable[Scope]) -> tuple[str, ...]:
    return next((b.devices for b in brands if len(b.devices) == 1), ())


def lower(roots: Sequence[UOp], keep: Row = ()) -> list[UOp]:
    """Batch the values over every brand that their graphs left, except those in `keep`.

    Brands in a value's row stay open. Reverse mode and the bodies of functions and loops call this.
    """
    if not any(map(has_pending, roots)):
        return _without_closed_brands(roots)

    passes: dict[Scope, tuple[Pass, Env]] = {}

    def closed(u: UOp) -> UOp | None:
        if u.op is not Ops.STAGE or (b := brand_of(u.src[1])) is None or b in keep:
            return None
        # what several values need is batched once, because each batched write has memory of its own
        run, env = passes.setdefault(b, (Pass((b,)), {}))
        # with the rule of STAGE, which repeats a value that lost the brand when another brand was closed
        return run.run([u], env, has_brand)[0].uop

    out = _without_closed_brands(replace_ops(roots, closed, has_pending))
    return copied_to_all(out, _one_device(left_brands(roots))) if any(info_of(u).sharded for u in roots) else out


def _without_closed_brands(us: Sequence[UOp]) -> list[UOp]:
    """Return the same values without closed brands that occur in their graphs but not in their rows."""
    if not any(info_of(u).sibling_varies for u in us):
        return list(us)
    graph = UOp(Ops.SINK, src=tuple(us)).toposort(has_brand, enter_calls=False)
    brands = [brand_of(u) for u in graph if u.op is Ops.RANGE]
    done = Pass(tuple(b for b in brands if b is not None and not b.is_open)).run(us, {}, has_brand)
    return [u if x.row else x.uop for u, x in zip(us, done, strict=True)]


class _Closed(Scope):
    """A brand that is never open: `check_live` raises an error for each use of its values."""

    is_brand = True

    @property
    def is_open(self) -> bool:
        return False


class Lost(_Closed):
    """The brand of a value that should have changed when `written` was written to its view `view`, and did not.

    The value is an expression without memory, so the write could not reach it, and each use raises an error.
    """

    def __init__(self, view: UOp, written: UOp) -> None:
        super().__init__(1, "lost")
        self.view, self.written = view, written

    def refusal(self, u: UOp, where: str) -> BrandedError:
        return WriteError(
            f"{where}: this value is lazy, and does not see the write into its view",
            ("value", f"{type_text(u, _open(u))}, not computed yet"),
            ("written", type_text(self.view)),
            fix="x = x.clone() before taking the view, or x[1:3] = ... instead of v.assign(...)",
        )

    def lose(self, u: UOp) -> UOp:
        return enter(expand(u, (1,)), self)

    def found(self, u: UOp) -> UOp:
        return u.src[0].src[0]


class Donated(_Closed):
    """The brand of a tensor that was donated to a call of a compiled function."""

    def __init__(self) -> None:
        super().__init__(1, "donated")

    def refusal(self, u: UOp, where: str) -> BrandedError:
        return EscapeError(
            f"{where}: this tensor was donated to jit, which may have overwritten it",
            ("value", type_text(u, _open(u))),
            fix="use the result of that call, or leave out donate_argnums",
        )

    def of(self, shape: tuple[Any, ...], dtype: DType, device: Any) -> UOp:
        """Return a value of this type that raises an error when it is used."""
        x: UOp = UOp.new_buffer(device, math.prod(shape), strong_dtype(dtype)).reshape((1, *shape))
        return enter(x, self)


def _open(u: UOp) -> Row:
    return tuple(b for b in row_of(u) if b.is_open)


def live_tensor(
    x: Any, where: str, error: type[BrandedError], fix: str | None = None, but: str = ", not a tensor"
) -> Tensor:
    """Return a leaf of a user's value as a tensor of open brands; errors for other values name its place `where`."""
    if (t := tree.as_tensor(x)) is None:
        raise error(f"{where} is {tree.describe(x)}{but}", fix=tree.advice(x) or fix)
    check_live(t.uop, where)
    return t


def live_tensors(
    x: Any, where: str, error: type[BrandedError], fix: str | None = None, but: str = ", not a tensor"
) -> list[Tensor]:
    """Return the leaves of a tree, each by `live_tensor`: `scan: the carry['w'] is the str 'a', not a tensor`."""
    return [live_tensor(v, path, error, fix, but) for v, path in zip(tree.leaves(x), tree.paths(x, where), strict=True)]


def live_results(out: Any, api_name: str) -> list[Tensor]:
    """Return the leaves of the result of a function that becomes a program."""
    tensors = live_tensors(
        out, f"{api_name}: the result", ProgramTypeError, "return tensors, numbers, or trees of them", ""
    )
    for t in tensors:
        tree.check_fits(t, t.dtype, f"{api_name}: the result")
    return tensors
