"""Graphs of tinygrad: operations built without what tinygrad would work out again, and graphs rewritten."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

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


def tensor(u: UOp) -> Tensor:
    """`Tensor(u)`, without looking for the device of `u`: that walks the whole graph."""
    t = Tensor.__new__(Tensor)
    t.uop, t.grad, t.is_param = u, None, True
    all_tensors[weakref.ref(t)] = None
    return t


def tensors(us: Iterable[UOp]) -> list[Tensor]:
    """`tensor` of each, one call for all."""
    made = []
    for u in us:
        t = Tensor.__new__(Tensor)
        t.uop, t.grad, t.is_param = u, None, True
        all_tensors[weakref.ref(t)] = None
        made.append(t)
    return made


def is_of_a_tensor(u: UOp) -> bool:
    """Is this the value of a tensor of floats that somebody has, and may ask for its gradient?"""
    return dtypes.is_float(u.dtype) and any((t := ref()) is not None and t.uop is u for ref in list(all_tensors))


# ---- building ----


def is_float(u: UOp) -> bool:
    return dtypes.is_float(u.dtype)


def again(u: UOp, *src: UOp) -> UOp:
    """The same operation on other operands."""
    return UOp(u.op, u.dtype, src, u.arg)


def like(u: UOp, v: UOp) -> UOp:
    """`v`, of which is known what is of `u`: the same operation on other operands."""
    keep_known(u, v)
    return v


_RANK = "_branded_rank"


def ranks(u: UOp) -> list[int]:
    """The number of axes of each operand of an elementwise `u`, without working out shapes where it can be avoided."""
    found = [_rank(s) for s in u.src]
    u.__dict__[_RANK] = max(found)
    return found


def _rank(u: UOp) -> int:
    """The number of axes of `u`, by going down to an operand that is known to have as many.

    SIN(x * 2)      its shape is not known yet, and `SIN` keeps the number of axes: on to x * 2
    x * 2           of the operands of `MUL` one is a number, without axes: on to x
    x, an f32[3]    it is known: 1, which is kept for SIN(x * 2) too
    """
    v = u
    while v.op in GroupOp.Elementwise and _RANK not in v.__dict__ and known_shape(v) is None:
        of = [s for s in v.src if s.op is not Ops.CONST]  # a number has no axes
        if len(of) > 1:
            break
        v = of[0] if of else v.src[0]
    n: int | None = v.__dict__.get(_RANK)
    u.__dict__[_RANK] = n = len(v.shape) if n is None else n
    return n


def reshape(x: UOp, shape: tuple[Any, ...]) -> UOp:
    return x if x.shape == shape else UOp(Ops.RESHAPE, x.dtype, (x, shape_to_shape_arg(shape)))


def expand(x: UOp, sizes: tuple[int, ...]) -> UOp:
    """`x` repeated along new leading axes."""
    return UOp(Ops.EXPAND, x.dtype, (x, shape_to_shape_arg(sizes))) if sizes else x


def behind(front: tuple[UOp, ...], argument: UOp) -> UOp:
    """The sizes or offsets that a movement op takes, behind others for the brands; a value may have left them all."""
    if not front:
        return argument
    src = (*front, *(argument.src if argument.op is Ops.STACK else (argument,)))
    dtype = front[0].dtype if argument.dtype is dtypes.void else argument.dtype  # void: of no sizes
    return src[0] if len(src) == 1 else UOp(Ops.STACK, dtype, src)


def against(flag: UOp, like: UOp) -> UOp:
    """A flag of one example, or of all of these, with as many axes as another value: one for each of its examples."""
    return flag.reshape((*flag.shape, *(1,) * (len(like.shape) - len(flag.shape))))


def on_device(x: UOp, device: str | None = None) -> UOp:
    """`x`, which may be made of numbers that no device has, as a value in memory."""
    if x.device is not None:
        return x
    out: UOp = x.cast(strong_dtype(x.dtype)).clone(device=device or canonicalize_device(None))
    return out


def stored(x: Tensor) -> Tensor:
    """What was chosen among numbers of Python, with the dtype that it has in memory: others have no memory."""
    weak = x.dtype in dtypes.weaks and x.uop.device is not None
    return x.cast(strong_dtype(x.dtype)) if weak else x


def permute(x: UOp, order: tuple[int, ...]) -> UOp:
    if x.op is Ops.PERMUTE:
        x, order = x.src[0], tuple(x.arg[i] for i in order)
    return x if order == tuple(range(len(order))) else UOp(Ops.PERMUTE, x.dtype, (x,), order)


def lead(x: UOp, order: tuple[int, ...]) -> UOp:
    """`x` with its leading axes in this order, and the others behind them as they are."""
    if order == tuple(range(len(order))):
        return x
    rank = len(x.arg if x.op is Ops.PERMUTE else x.shape)
    return permute(x, (*order, *range(len(order), rank)))


def nbytes(u: UOp) -> int:
    """The memory that a value takes."""
    return int(u.max_numel()) * u.dtype.itemsize


def base_of(u: UOp) -> UOp:
    """The value that `u` is, but for its shape."""
    while u.op is Ops.RESHAPE:
        u = u.src[0]
    return u


# ---- rewriting ----


def replaced(
    roots: Sequence[UOp],
    new: Callable[[UOp], UOp | None],
    gate: Callable[[UOp], bool] | None = None,
    at: Mapping[UOp, UOp] | None = None,
) -> list[UOp]:
    """The same graphs with some operations replaced: `new` sees each with its operands replaced; None leaves it.

    `at` gives what to put in the place of an operation whatever becomes of its operands.
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


def joined(parts: list[Tensor], axis: int, width: int = 16) -> Tensor:
    """The chunks as one tensor; joined in a tree, so that no kernel reads too many."""
    while len(parts) > 1:
        parts = [parts[i].cat(*parts[i + 1 : i + width], dim=axis) for i in range(0, len(parts), width)]
        if len(parts) > 1:
            parts = [p.contiguous() for p in parts]
    return parts[0]
