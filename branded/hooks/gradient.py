"""Hooks into tinygrad's reverse mode, for brands, leaves, writes and primitives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import AxisType, GroupOp, Ops, PatternMatcher, UOp, UPat

from branded.autodiff.forward import (
    cosine,
    max_mask,
    no_range_rule,
    power_by_base,
    power_by_exponent,
    products_of_others,
)
from branded.autodiff.leaves import transforming
from branded.autodiff.results import strip_tags
from branded.autodiff.reverse import is_pulling, pull_back
from branded.autodiff.window_gradients import window_cotangent
from branded.core.analysis import aliasing
from branded.core.boundary import lower
from branded.core.sharding.resharding import everywhere, reshard, starts_of_each, whole_if_moved
from branded.core.tracing.closure_conversion import with_arguments
from branded.core.tracing.effect_tokens import derivative_block
from branded.core.values import vec_type
from branded.errors import EscapeError, UnsupportedError
from branded.graph.primitive import at_slot, derives_from, params, primitive_of, results
from branded.graph.rows import check_live, left_brands, row_of
from branded.graph.scope import brand_of
from branded.graph.tags import is_tagged
from branded.graph.uops import on_device, tensor
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.private_api import reduce_axes
from branded.tinygrad_compat.tensor_methods import Method, wrap
from branded.tinygrad_compat.uops import is_inexact


def _gradient(original: Method) -> Method:
    def gradient(self: Tensor, *targets: Tensor, gradient: Tensor | None = None) -> Any:
        """Lower the finished vmaps before the backward pass, so that reverse mode sees plain operations."""
        tensors = [self, *targets, *([gradient] if gradient is not None else [])]
        for t in tensors:
            check_live(t.uop, "gradient")
        for t in targets:
            _check_target(t, self)
        if any(b.is_open and b in row_of(self.uop) for b in left_brands([self.uop])):
            # examples exchange values in this loss, so its gradient is computed as in `grad`
            ct = self.uop.const_like(1) if gradient is None else gradient.uop
            with transforming():
                grads, _ = pull_back([self.uop], [ct], [t.uop for t in targets])
            return [tensor(u) for u in strip_tags(grads)]
        new = lower([t.uop for t in tensors])
        done = [t if u is t.uop else Tensor(u) for t, u in zip(tensors, new, strict=True)]
        ts = done[1 : 1 + len(targets)]
        return original(done[0], *ts, gradient=done[-1] if gradient is not None else None)

    return gradient


def _check_target(t: Tensor, loss: Tensor) -> None:
    for b in row_of(t.uop):
        if b.was_left and b not in row_of(loss.uop):
            raise EscapeError(
                f"gradient: this value is one example of `{b.name}`, and the loss uses all of them",
                ("value", vec_type(t)),
                ("loss", vec_type(loss)),
                fix="differentiate with respect to the batched tensor",
            )


def _leaf_gradient(ctx: UOp, ret: UOp) -> tuple[UOp] | None:
    """Return the cotangent of a leaf or storage unchanged; tinygrad's rule would materialize it."""
    return (ctx,) if is_tagged(ret) else None


def _write_gradient(ctx: UOp, ret: UOp) -> tuple[UOp, UOp] | None:
    """Split the cotangent of a partial write into the parts for the old and for the written value."""
    if (part := aliasing.part(ret)) is None or not part[0]:
        return None
    part_ct = aliasing.apply_views(part[0], ctx)
    return aliasing.write_view(part_ct, part_ct.const_like(0), ctx), part_ct


def _product_gradient(ctx: UOp, ret: UOp) -> tuple[UOp, ...] | None:
    """Return the cotangent of a product or maximum; tinygrad's rule, a quotient, cannot be differentiated again."""
    if len(ret.src) > 1:
        raise no_range_rule("gradient", ret)
    if ret.arg[0] is Ops.MAX and is_inexact(ret.src[0]):
        return (_shared_by_the_largest(ret.src[0], ret.arg[1], ctx),)
    if not is_pulling() or ret.arg[0] is not Ops.MUL:
        return None
    x = ret.src[0]
    return (ctx * products_of_others(x, ret.arg[1]),)


def _shared_by_the_largest(x: UOp, n: int, ctx: UOp) -> UOp:
    """Split the cotangent of a maximum over the leading axes among the elements that attain it."""
    mask = max_mask(x, n, ctx.dtype)
    share: UOp = mask / reduce_axes(mask, Ops.ADD, tuple(range(n))) * ctx
    return share


def _exp2_gradient(ctx: UOp, ret: UOp) -> tuple[UOp]:
    """Return 0, not NaN, where the power is infinite and the cotangent is 0, as for sigmoid(-200)."""
    mask = ret.ne(math.inf) | ctx.ne(0)
    return (ctx * mask.where(ret, 0.0) * math.log(2),)


def _cast_gradient(ret: UOp) -> tuple[None] | None:
    """Return no cotangent for casts of ints and bools, even if tinygrad would differentiate the rounding."""
    return (None,) if is_pulling() and not dtypes.is_float(ret.src[0].dtype) else None


def _expand_gradient(ctx: UOp, ret: UOp) -> tuple[UOp, None] | None:
    """Return the cotangent of an array that windows repeat."""
    found = window_cotangent(ctx, len(ret.marg))
    return None if found is None else (found, None)


def _unshard_gradient(ctx: UOp, ret: UOp) -> tuple[UOp, None] | None:
    """Shard the cotangent like the operand."""
    if len(ret.arg) != 1 or not isinstance(ret.device, tuple):
        return None
    every = reshard(ctx, ret.device, axis := ret.arg[0])
    return every.src[0] if every.op is Ops.UNSHARD else private_api.part_of_each(every, axis, ret.src[1]), None


def _reshape_gradient(ctx: UOp, ret: UOp) -> tuple[UOp, None]:
    """Return the cotangent in the shape of the operand."""
    return whole_if_moved(ctx.reshape(ret.src[0].shape)), None


def _part_gradient(ctx: UOp, ret: UOp) -> tuple[UOp, None, None] | None:
    """Return the cotangent of a shard of a replicated value: all shards, at their original positions."""
    devices, whole = ret.device, ret.src[0].shape
    if not isinstance(devices, tuple):
        return None
    axis = next((i for i, (m, n) in enumerate(zip(whole, ret.shape, strict=True)) if m != n), None)
    number, starts = (None, []) if axis is None else starts_of_each(ret, axis)
    if axis is None or number is None:
        return None
    n, parts = ret.shape[axis], ctx.unshard(axis, number)
    if starts == [i * n for i in range(len(devices))] and n * len(devices) == whole[axis]:
        return parts, None, None
    every = parts.copy_to_device(devices)
    out: Any = 0
    for i, start in enumerate(starts):
        shard = every.shrink(tuple((i * n, (i + 1) * n) if a == axis else (0, s) for a, s in enumerate(ctx.shape)))
        out = shard.pad(tuple((start, s - start - n) if a == axis else (0, 0) for a, s in enumerate(whole))) + out
    return out, None, None


def _select_gradient(ctx: UOp, ret: UOp) -> tuple[UOp]:
    """Return the cotangent of a read on one device, which is 0 for the shards of the other devices."""
    devices = ret.src[0].device
    cotangent = ctx.contiguous().copy_to_device(devices)
    if not _is_own_of_each(ret.src[0]):
        return (cotangent,)
    mine: UOp = UOp.range(len(devices), -1, AxisType.DEVICE).eq(ret.arg).where(cotangent, cotangent.const_like(0))
    return (mine,)


def _is_own_of_each(x: UOp) -> bool:
    """Return whether each device holds a different value."""
    within = x.toposort(gate=lambda u: u.op not in {Ops.UNSHARD, Ops.COPY})
    return any(u.op is Ops.RANGE and u.arg[-1] is AxisType.DEVICE for u in within)


def _stack_gradient(ctx: UOp, ret: UOp) -> tuple[UOp | None, ...]:
    """Return the cotangents of the values on each device: the part on the same device, in memory.

    Copies of one value to all devices share a cotangent, which the value receives once.  It may be sharded.
    """
    same = len({s.src[0] if s.op is Ops.COPY else s for s in ret.src}) == 1
    if ctx.device is None:  # a number
        return tuple(None if same and i else ctx for i in range(len(ret.src)))
    whole = (ctx if ctx.axis is None else everywhere(ctx, ret.device)).contiguous()
    return tuple(None if same and i else whole.mselect(i) for i in range(len(ret.src)))


def _deepwalk(root: UOp, targets: set[UOp]) -> tuple[list[UOp], dict[UOp, bool]]:
    """Return the nodes on the path of a derivative; detached arguments of functions are not on it."""
    path: dict[UOp, bool] = {}
    root.topovisit(lambda u: u.op not in _NOWHERE and any(path[x] or x in targets for x in derives_from(u)), path)
    return [u for u, on_it in path.items() if on_it], path


_NOWHERE = {Ops.DETACH, *GroupOp.Comparison}


def _call_gradient(original: Callable[..., Any]) -> Callable[..., Any]:
    def call_gradient(ctx: UOp, k: UOp, needed: set[int]) -> tuple[UOp | None, ...]:
        if (p := primitive_of(k)) is not None:
            cts = [None if g.op is Ops.NOOP else g for g in ctx.src]
            with derivative_block(p.is_rule):
                return (None, *p.vjp(k, cts, needed))
        if k.op is Ops.CALL and k.arg.grad_fxn is None:
            raise UnsupportedError(
                "gradient: a hand-written kernel has no derivative", fix="custom_kernel(..., grad_fxn=...)"
            )
        if ctx.op is Ops.TUPLE:  # a batched cotangent without a device would be part of the body, not an argument
            ctx = UOp.maketuple(*(on_device(g) if row_of(g) else g for g in ctx.src))
        with derivative_block(False):
            if k.arg.grad_fxn is not None:
                return cast("tuple[UOp | None, ...]", original(ctx, k, needed))
            return (None, *_function_gradient(ctx, k, needed))

    return call_gradient


def _function_gradient(ctx: UOp, k: UOp, needed: set[int]) -> list[UOp | None]:
    """Compute the needed cotangents in one call, like tinygrad's own rule.

    tinygrad's rule differentiates with respect to all arguments, even if a custom rule rejects one. It also confuses
    the parameters of functions in the body with the parameters of the body. And values that a custom rule closes over
    stay in the body, where transforms do not find them.
    """
    body, args = k.src[0], [*k.src[1:], *ctx.src]
    n, param_at = len(k.src) - 1, {p.arg.slot: p for p in params(body)}
    # tinygrad adds a missing cotangent to another one if both results are the same value
    cts = {i: g if g.device is None else g.param_like(n + i) for i, g in enumerate(ctx.src) if g.op is not Ops.NOOP}
    ys, seeds = UOp.maketuple(*(body.src[i] for i in cts)), UOp.maketuple(*cts.values())
    grads = private_api.compute_gradient(ys, seeds, {param_at[i] for i in needed if i in param_at})
    wanted = [i for i in sorted(needed) if i in param_at and param_at[i] in grads]
    new = UOp.maketuple(*(grads[param_at[i]] for i in wanted))
    if k.arg.precompile:  # the results of the function are available
        new = new.substitute({y: y.param_like(len(args) + i) for i, y in enumerate(body.src)}, walk=True)
        args += [k.gettuple(i) for i in range(len(body.src))]
    new = private_api.renumber_invalid_outputs(new)
    new_params = params(new)
    new = new.substitute({p: at_slot(p, i) for i, p in enumerate(new_params)}, walk=True)
    src = with_arguments((new, *(args[p.arg.slot] for p in new_params)), body)
    call = src[0].call(*src[1:], name=f"{k.arg.name}.backward", precompile=k.arg.precompile_backward)
    grad_of = dict(zip(wanted, results(call), strict=True))
    return [grad_of.get(i) for i in range(n)]


def _index_gradient(ctx: UOp, ret: UOp) -> tuple[UOp, None] | None:
    """Return d/dX of X[brand]: the cotangent in the example's own row, and zero in the others."""
    x, r = ret.src
    if brand_of(r) is None:
        return None
    rows = UOp.arange(x.shape[0])
    own_row = rows.eq(UOp(Ops.INDEX, src=(rows, r))).reshape((x.shape[0],) + (1,) * len(ctx.shape))
    ct = ctx.reshape((1, *ctx.shape))
    return own_row.where(ct, ct.const_like(0)), None


def install() -> None:
    wrap("gradient", _gradient)
    brand_index = UPat(Ops.INDEX, src=(UPat(), UPat(Ops.RANGE)))
    private_api.gradient.pm_gradient = (
        PatternMatcher(
            [
                (UPat(Ops.CONTIGUOUS_BACKWARD, name="ret"), _leaf_gradient),
                (UPat(Ops.AFTER, name="ret"), _write_gradient),
                (UPat(Ops.CAST, name="ret"), _cast_gradient),
                (UPat(Ops.EXP2, name="ret"), _exp2_gradient),
                (UPat(Ops.SIN, name="ret"), lambda ctx, ret: (cosine(ret.src[0]) * ctx,)),
                (UPat(Ops.POW, name="ret"), lambda ctx, ret: (ctx * power_by_base(ret), ctx * power_by_exponent(ret))),
                (UPat(Ops.REDUCE, name="ret"), _product_gradient),
                (brand_index.named("ret"), _index_gradient),
                (UPat(Ops.RESHAPE, name="ret"), _reshape_gradient),
                (UPat(Ops.EXPAND, name="ret"), _expand_gradient),
                (UPat(Ops.UNSHARD, name="ret"), _unshard_gradient),
                (UPat(Ops.SHRINK, name="ret"), _part_gradient),
                (UPat(Ops.MSELECT, name="ret"), _select_gradient),
                (UPat(Ops.MSTACK, name="ret"), _stack_gradient),
            ]
        )
        + private_api.gradient.pm_gradient
    )
    private_api.gradient._deepwalk = _deepwalk
    private_api.gradient.call_gradient = _call_gradient(private_api.gradient.call_gradient)
