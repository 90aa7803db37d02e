"""Functions that build tinygrad graphs without recomputing shapes, and that rewrite them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

from tinygrad import Tensor, dtypes
from tinygrad.dtype import strong_dtype
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.tinygrad_compat.private_api import (
    all_tensors,
    canonicalize_device,
    keep_known,
    known_shape,
    shape_to_shape_arg,
)
from branded.tinygrad_compat.uops import base_of as base_of
from branded.tinygrad_compat.uops import inverse as inverse
from branded.tinygrad_compat.uops import living_tensors as living_tensors
from branded.tinygrad_compat.uops import tensor as tensor
from branded.vec import Vec

X = TypeVar("X", bound=Tensor | Vec[Any, Any])


def tensors(us: Iterable[UOp]) -> list[Tensor]:
    """Return `tensor(u)` for each `u`, in one call."""
    out = []
    for u in us:
        t = Tensor.__new__(Tensor)
        t.uop, t.grad, t.is_param = u, None, True
        all_tensors[weakref.ref(t)] = None
        out.append(t)
    return out


def realize_tensors(xs: Iterable[object]) -> None:
    """Realize the tensors among `xs` together; virtual ones need no memory."""
    if held := [x for x in xs if isinstance(x, Tensor) and not x.uop.is_virtual]:
        Tensor.realize(*held)


def is_of_a_tensor(u: UOp) -> bool:
    """Return whether `u` is the value of a live float tensor, whose gradient may be requested."""
    return dtypes.is_float(u.dtype) and any((t := ref()) is not None and t.uop is u for ref in list(all_tensors))


def is_float(u: UOp) -> bool:
    return dtypes.is_float(u.dtype)


def again(u: UOp, *src: UOp) -> UOp:
    """Return the operation `u` on other operands."""
    return UOp(u.op, u.dtype, src, u.arg)


def like(u: UOp, v: UOp) -> UOp:
    """Return `v`, the operation `u` on other operands, after copying the cached facts about `u` to it."""
    keep_known(u, v)
    return v


_RANK = "_branded_rank"


def ranks(u: UOp) -> list[int]:
    """Return the rank of each operand of an elementwise `u`, without computing shapes if possible."""
    operand_ranks = [_rank(s) for s in u.src]
    u.__dict__[_RANK] = max(operand_ranks)
    return operand_ranks


def _rank(u: UOp) -> int:
    """Return the rank of `u`, found by descending to an operand with the same, known rank.

    SIN(x * 2)      shape not known yet, and `SIN` keeps the rank: go to x * 2
    x * 2           one operand of `MUL` is a constant, without axes: go to x
    x, an f32[3]    known: 1, which is cached for SIN(x * 2) too
    """
    v = u
    while v.op in GroupOp.Elementwise and _RANK not in v.__dict__ and known_shape(v) is None:
        operands = [s for s in v.src if s.op is not Ops.CONST]  # a constant has no axes
        if len(operands) > 1:
            break
        v = operands[0] if operands else v.src[0]
    n: int | None = v.__dict__.get(_RANK)
    u.__dict__[_RANK] = n = len(v.shape) if n is None else n
    return n


def reshape(x: UOp, shape: tuple[Any, ...]) -> UOp:
    return x if x.shape == shape else UOp(Ops.RESHAPE, x.dtype, (x, shape_to_shape_arg(shape)))


def expand(x: UOp, sizes: tuple[int, ...]) -> UOp:
    """Return `x`, repeated along new leading axes."""
    return UOp(Ops.EXPAND, x.dtype, (x, shape_to_shape_arg(sizes))) if sizes else x


def behind(front: tuple[UOp, ...], argument: UOp) -> UOp:
    """Return the sizes or offsets of a movement op, with the sizes or offsets of the brand axes in front."""
    if not front:
        return argument
    src = (*front, *(argument.src if argument.op is Ops.STACK else (argument,)))
    dtype = front[0].dtype if argument.dtype is dtypes.void else argument.dtype  # void: no sizes
    return src[0] if len(src) == 1 else UOp(Ops.STACK, dtype, src)


def against(flag: UOp, like: UOp) -> UOp:
    """Append axes of size 1 to a flag, so that it has the rank of `like`."""
    return flag.reshape((*flag.shape, *(1,) * (len(like.shape) - len(flag.shape))))


def on_device(x: UOp, device: str | None = None) -> UOp:
    """Return `x` as a value in memory; `x` may consist of constants without a device."""
    if x.device is not None:
        return x
    out: UOp = x.cast(strong_dtype(x.dtype)).clone(device=device or canonicalize_device(None))
    return out


def widen(x: Tensor) -> Tensor:
    """Widen float16 and bfloat16 to float32."""
    return x if x.dtype.itemsize >= 4 else x.cast(dtypes.float32)


def with_strong_dtype(x: Tensor) -> Tensor:
    """Return a value that is computed from Python numbers with the dtype that it has in memory."""
    weak = x.dtype in dtypes.weaks and x.uop.device is not None
    return x.cast(strong_dtype(x.dtype)) if weak else x


def permute(x: UOp, order: tuple[int, ...]) -> UOp:
    if x.op is Ops.PERMUTE:
        x, order = x.src[0], tuple(x.arg[i] for i in order)
    return x if order == tuple(range(len(order))) else UOp(Ops.PERMUTE, x.dtype, (x,), order)


def lead(x: UOp, order: tuple[int, ...]) -> UOp:
    """Return `x` with its leading axes in this order, and the other axes unchanged after them."""
    if order == tuple(range(len(order))):
        return x
    rank = len(x.arg if x.op is Ops.PERMUTE else x.shape)
    return permute(x, (*order, *range(len(order), rank)))


def nbytes(u: UOp) -> int:
    """Return the size of a value in bytes."""
    return int(u.max_numel()) * u.dtype.itemsize


def replace_ops(
    roots: Sequence[UOp],
    new: Callable[[UOp], UOp | None],
    gate: Callable[[UOp], bool] | None = None,
    at: Mapping[UOp, UOp] | None = None,
) -> list[UOp]:
    """Return the same graphs with some operations replaced.

    `new` gets each operation with its operands replaced, and returns its replacement or None to keep it.  `at` maps
    operations to fixed replacements, whatever their operands are.
    """
    env: dict[UOp, UOp] = {}
    for u in UOp(Ops.SINK, src=tuple(roots)).toposort(gate, enter_calls=False):
        if at is not None and u in at:
            env[u] = at[u]
            continue
        src = u.src if env.keys().isdisjoint(u.src) else tuple(env.get(s, s) for s in u.src)
        v = u if src is u.src else like(u, u.replace(src=src))
        if (w := new(v)) is not None:
            env[u] = w
        elif v is not u:
            env[u] = v
    return [env.get(r, r) for r in roots]


def moveaxis(x: X, source: int, to: int) -> X:
    """Move an axis to another position; the other axes keep their order.

    Source: `numpy.moveaxis`.
    """
    order = list(range(x.ndim))
    order.insert(to % x.ndim, order.pop(source))
    return cast(X, x.permute(*order))


def concatenate_chunks(parts: list[Tensor], axis: int) -> Tensor:
    """Concatenate chunks along `axis`, in a tree, so that no kernel reads too many."""
    while len(parts) > 1:
        parts = [parts[i].cat(*parts[i + 1 : i + 16], dim=axis) for i in range(0, len(parts), 16)]
        if len(parts) > 1:
            parts = [p.contiguous() for p in parts]
    return parts[0]
