"""A cache for the movements that an index or a broadcast consists of, by the shape of the operand.

tinygrad parses the index, computes five shapes and creates the sizes of each movement: 150 us for `x[3]`. The movements
depend only on the shape and on the numbers in the index. Here they are recorded once, and then built directly.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable
from typing import Any

from tinygrad import Tensor
from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat import private_api

MOST = 1024
"""The maximum number of cached indices and shapes."""
_MOVEMENTS = {Ops.RESHAPE, Ops.EXPAND, Ops.PERMUTE, Ops.SHRINK, Ops.PAD, Ops.FLIP}
_Step = tuple[Ops, tuple[UOp, ...], Any, tuple[Any, ...]]
"""A movement: its operation, the operands with its sizes, its argument, and the shape of its result."""


def _steps(out: UOp, x: UOp) -> tuple[_Step, ...] | None:
    """Return the movements that turn `x` into `out`, or None if `out` is not made by movements alone."""
    steps: list[_Step] = []
    while out is not x:
        if out.op not in _MOVEMENTS or out.tag is not None:
            return None
        steps.append((out.op, out.src[1:], out.arg, out.shape))
        out = out.src[0]
    return tuple(reversed(steps))


def _cached(original: Callable[..., Tensor], key_of: Callable[[Any], Hashable]) -> Callable[..., Tensor]:
    """Wrap a method with one argument; `key_of` returns a key of the argument, or None if the result is not cached."""
    known: dict[Hashable, tuple[_Step, ...] | None] = {}
    names = private_api.all_metadata
    all_int, keep_shape, new, ref = private_api.all_int, private_api.keep_shape, Tensor.__new__, weakref.ref

    @functools.wraps(original)
    def move(self: Tensor, arg: Any, *others: Any) -> Tensor:
        x = self.uop
        if others or (key := key_of(arg)) is None or not all_int(shape := x.shape):
            return original(self, arg, *others)
        if (steps := known.get((shape, key), ())) == ():
            out = original(self, arg)
            if out is not self:
                if len(known) >= MOST:
                    known.clear()
                known[shape, key] = _steps(out.uop, x)
            return out
        if steps is None:
            return original(self, arg)
        method = private_api.tensor._METADATA.get()
        for op, src, argument, shape in steps:
            x = UOp(op, x.dtype, (x, *src), argument)
            keep_shape(x, shape)
            if method is not None:
                names[x] = (method,)
        t = new(Tensor)
        t.uop, t.grad, t.is_param = x, None, True
        private_api.tensor.all_tensors[ref(t)] = None
        return t

    return move


def _index(index: Any) -> Hashable:
    """Return a key of an index of ints and slices of ints; None for any other index."""
    key: list[Any] = []
    for i in index if type(index) is tuple else (index,):
        if type(i) is slice:
            parts = i.start, i.stop, i.step
            if not all(x is None or type(x) is int for x in parts):
                return None
            key.append(parts)
        elif type(i) is int or i is None or i is ...:
            key.append(i)
        else:
            return None
    return tuple(key)


def _shape(shape: Any) -> Hashable:
    return shape if type(shape) is tuple and all(type(n) is int for n in shape) else None


def install() -> None:
    for name, key_of in ((private_api.INDEXES, _index), (private_api.BROADCASTS, _shape)):
        setattr(Tensor, name, _cached(getattr(Tensor, name), key_of))
