"""Fast inference of dtypes and shapes, with lookups by operation, and a cache for the sizes of movements.

tinygrad compares an operation with forty others in turn until it reaches `ADD`. That takes 5 us for the dtype and 6 us
for the shape, while creating the UOp takes 0.5 us. Here the common operations are looked up. Rare ones, and errors, are
left to tinygrad's own functions.

Each `reshape`, `expand`, `shrink` and `pad` makes an operation of each size, and applies arithmetic rules to all of
them: 25 us. Here sizes that are ints are not simplified, and operands that exist are reused.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeGuard

from tinygrad import dtypes
from tinygrad.dtype import DType
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.tinygrad_compat import gates, private_api
from branded.tinygrad_compat.speed.fast_rewrite import known_results

_Dtype = Callable[[tuple[UOp, ...], Any], DType | None]
_Shape = Callable[[UOp], Any]

_COMPARISONS = {Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ}
_JOINED = GroupOp.Broadcastable - _COMPARISONS - {Ops.WHERE, Ops.SHL, Ops.SHR}
"""The operations whose dtype is the promoted dtype of all operands."""
_SAME = {Ops.DETACH, Ops.CONTIGUOUS, Ops.CONTIGUOUS_BACKWARD, Ops.AFTER, Ops.LOAD, Ops.COPY}
"""The operations with the dtype and the shape of their first operand."""
_OF_FIRST = _SAME | GroupOp.Movement | {Ops.NEG, Ops.TRUNC, Ops.REDUCE, Ops.RANGE, Ops.STAGE}
_OF_ONE = GroupOp.Unary | {Ops.CAST}


def _dtype(original: Callable[..., DType | None]) -> Callable[..., DType | None]:
    promoted = private_api.least_upper_dtype

    def joined(src: tuple[UOp, ...], arg: Any) -> DType | None:
        first = src[0].dtype
        for x in src:
            if x.dtype is not first:
                dtype: DType = promoted(*(y.dtype for y in src))
                return dtype
        return first

    def cast(src: tuple[UOp, ...], arg: Any) -> DType | None:
        return arg if isinstance(arg, DType) else original(Ops.CAST, src, arg)

    def chosen(src: tuple[UOp, ...], arg: Any) -> DType | None:
        return joined(src[1:], arg) if src[0].dtype is dtypes.bool else original(Ops.WHERE, src, arg)

    ways: dict[Ops, _Dtype] = dict.fromkeys(_JOINED, joined)
    ways |= dict.fromkeys(_OF_FIRST, lambda src, arg: src[0].dtype)
    ways |= dict.fromkeys(_COMPARISONS, lambda src, arg: dtypes.bool) | {Ops.CAST: cast, Ops.WHERE: chosen}

    @functools.wraps(original)
    def dtype_from_uop(op: Ops, src: tuple[UOp, ...], arg: Any) -> DType | None:
        return way(src, arg) if (way := ways.get(op)) is not None else original(op, src, arg)

    return dtype_from_uop


def _shape(original: _Shape, name: str) -> _Shape:
    """Wrap shape inference: the operands have their shapes in `name`; each lookup returns None if it cannot decide."""

    def joined(u: UOp) -> Any:
        shape: Any = ()
        for x in u.src:
            other = x.__dict__[name]
            if other != shape and other != ():
                if shape != ():
                    return None
                shape = other
        return shape

    def reshaped(u: UOp) -> Any:
        old, new = u.src[0].__dict__[name], sizes_of(u.src[1])
        if new is None or not _are_ints(old) or (new and min(new) < 0) or math.prod(old) != math.prod(new):
            return None
        return new

    def expanded(u: UOp) -> Any:
        old, new = u.src[0].__dict__[name], sizes_of(u.src[1])
        return None if old is None or new is None else new + old

    def permuted(u: UOp) -> Any:
        old = u.src[0].__dict__[name]
        if old is None or sorted(u.arg) != list(range(len(old))):
            return None
        return tuple([old[i] for i in u.arg])

    def shrunk(u: UOp) -> Any:
        old, begins, new = u.src[0].__dict__[name], sizes_of(u.src[1]), sizes_of(u.src[2])
        return new if _is_within(new, begins, old) else None

    def padded(u: UOp) -> Any:
        old, begins, new = u.src[0].__dict__[name], sizes_of(u.src[1]), sizes_of(u.src[2])
        return new if _is_within(old, begins, new) else None

    def reduced(u: UOp) -> Any:
        old, n = u.src[0].__dict__[name], u.arg[1]
        return old[n:] if old is not None and type(n) is int and 0 <= n <= len(old) else None

    def indexed(u: UOp) -> Any:
        old, *shapes = [x.__dict__[name] for x in u.src]
        if old is None or None in shapes:
            return None
        return (*(size for shape in shapes for size in shape), *old[len(shapes) :])

    ways: dict[Ops, _Shape] = dict.fromkeys(GroupOp.Broadcastable, joined)
    ways |= dict.fromkeys(_SAME | {Ops.STORE, Ops.END}, lambda u: u.src[0].__dict__[name] if u.src else None)
    ways |= dict.fromkeys(_OF_ONE, lambda u: u.src[0].__dict__[name] if len(u.src) == 1 else None)
    ways |= {Ops.RESHAPE: reshaped, Ops.EXPAND: expanded, Ops.PERMUTE: permuted, Ops.SHRINK: shrunk, Ops.PAD: padded}
    ways |= {Ops.REDUCE: reduced, Ops.INDEX: indexed, Ops.CONST: lambda u: ()}

    @functools.wraps(original)
    def shape(u: UOp) -> Any:
        way = ways.get(u.op)
        return original(u) if way is None or (result := way(u)) is None else result

    return shape


SIZES = "_branded_sizes"
"""The attribute in which the operand of a movement caches its sizes."""


def sizes_of(operand: UOp) -> tuple[int, ...] | None:
    """Return the sizes in the operand of a movement, or None if they are not all concrete."""
    out: tuple[int, ...] | None = operand.__dict__.get(SIZES)
    if out is None and (operand.op is Ops.STACK or operand.op is Ops.CONST):
        sizes = operand.src if operand.op is Ops.STACK else (operand,)
        numbers = tuple([x.arg for x in sizes if x.op is Ops.CONST and type(x.arg) is int])
        if len(numbers) == len(sizes):
            out = operand.__dict__[SIZES] = numbers
    return out


def _are_ints(shape: tuple[Any, ...] | None) -> TypeGuard[tuple[int, ...]]:
    return shape is not None and all(type(size) is int for size in shape)


def _is_within(inner: tuple[Any, ...] | None, begins: tuple[Any, ...] | None, outer: tuple[Any, ...] | None) -> bool:
    """Return whether a shape at these offsets lies inside another, with all sizes concrete."""
    if not (_are_ints(inner) and _are_ints(begins) and _are_ints(outer) and len(inner) == len(begins) == len(outer)):
        return False
    return all(b >= 0 and n >= 0 and b + n <= m for n, b, m in zip(inner, begins, outer, strict=True))


def _once(original: Callable[[tuple[Any, ...]], UOp]) -> Callable[[tuple[Any, ...]], UOp]:
    """Cache the operand of a movement for its sizes."""
    made = functools.lru_cache(maxsize=1024)(original)

    @functools.wraps(original)
    def shape_to_shape_arg(arg: tuple[Any, ...]) -> UOp:
        return made(arg) if _are_ints(arg) else original(arg)  # True equals 1, but raises an error

    return shape_to_shape_arg


def _move(original: Callable[..., UOp]) -> Callable[..., UOp]:
    """Create a movement without simplifying its sizes if they are ints."""

    @functools.wraps(original)
    def move(self: UOp, op: Ops, arg: Any) -> UOp:
        sizes = tuple(zip(*arg, strict=True)) if op is Ops.SHRINK or op is Ops.PAD else (arg,)
        if op is Ops.PERMUTE or op is Ops.FLIP or op is Ops.STACK or not arg or not all(map(_are_ints, sizes)):
            return original(self, op, arg)
        operands = [private_api.ops.shape_to_shape_arg(tuple(x)) for x in sizes]
        return UOp(op, self.dtype, (self, *operands))

    return move


def _simple(original: Callable[..., UOp]) -> Callable[..., UOp]:
    @functools.wraps(original)
    def simplify(self: UOp, tracked: bool = False) -> UOp:
        if self.op is Ops.SINK and None not in map(sizes_of, self.src):
            return self
        known = None if tracked else known_results(private_api.symbolic)
        if known is not None and (out := known.get(self)) is not None:
            return out
        return original(self, tracked)

    return simplify


def _get(original: Callable[..., Any]) -> Callable[..., Any]:
    """Compute a recursive property without sorting the graph first."""

    @functools.wraps(original)
    def get(self: Any, u: UOp | None, owner: Any = None) -> Any:
        if u is None:
            return self
        name, attributes = self.nm, u.__dict__
        if name in attributes:
            return attributes[name]
        function = self.fxn
        missing: list[Any] = [x for x in u.src if name not in x.__dict__]
        missing.reverse()
        while missing:
            x = missing.pop()
            if x is None:  # the operands of the next entry have the property
                x = missing.pop()
                x.__dict__[name] = function(x)
            elif name not in x.__dict__:
                missing += (x, None, *x.src[::-1])
        out = attributes[name] = function(u)
        return out

    return get


def _copy(original: Callable[..., UOp]) -> Callable[..., UOp]:
    """Create a copy to another device without padding and cutting its shape if its sizes are ints."""

    @functools.wraps(original)
    def copy_to_device(self: UOp, device: Any, arg: Any = None) -> UOp:
        if arg is None and isinstance(self.device, str) and _are_ints(self.shape) and self.dtype not in dtypes.weaks:
            return UOp(Ops.COPY, src=(self,), arg=device)
        return original(self, device, arg)

    return copy_to_device


def install() -> None:
    private_api.ops.dtype_from_uop = _dtype(private_api.ops.dtype_from_uop)
    shape, kind = UOp.__dict__[private_api.SHAPE], private_api.ops.recursive_property
    shape.fxn = _shape(shape.fxn, shape.nm)
    kind.__get__ = _get(kind.__get__)
    private_api.ops.shape_to_shape_arg = _once(private_api.ops.shape_to_shape_arg)
    setattr(UOp, private_api.MOVES, _move(getattr(UOp, private_api.MOVES)))
    gates.replace_plain(UOp, "copy_to_device", _copy(UOp.copy_to_device))
    setattr(UOp, "simplify", _simple(UOp.simplify))  # noqa: B010  mypy: a method is not assigned
