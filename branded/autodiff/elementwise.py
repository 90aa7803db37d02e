"""Elementwise functions as primitives: a formula for the value, and a separate formula for the derivative.

The formula of the value may use different polynomials on different ranges. The derivative of such a polynomial loses
digits with each order, and is wrong where two ranges meet.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence, Set
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import Ops, UOp

from branded.core.batching.store import order_as_read
from branded.graph.primitive import Batched, BatchingRun, Bundle, Primitive, results
from branded.graph.rows import is_differentiated
from branded.graph.scope import Row, call_body, union
from branded.graph.uops import inverse, on_device, permute, tensor, widen
from branded.tinygrad_compat.private_api import CallInfo, all_int, broadcast_to, least_upper_dtype, least_upper_float

Value = Callable[..., Tensor]
Slopes = Callable[..., Sequence[Tensor]]


class Elementwise(Primitive):
    """An elementwise function of operands that share one shape and one float dtype.

    Args:
        name: The name of the `Tensor` method or package function.
        value: `value(*xs)`, the value. Its own derivative need not be accurate.
        slopes: `slopes(y, *xs)`, the derivative with respect to each operand; it may be differentiated again.
    """

    def __init__(self, name: str, value: Value, slopes: Slopes) -> None:
        self.name, self.value, self.slopes = name, value, slopes

    def __call__(self, *operands: Tensor) -> Tensor:
        """Call the function as one FUNCTION in the graph."""
        dtype = least_upper_float(least_upper_dtype(*(x.dtype for x in operands)))
        if dtype in dtypes.weaks:  # only Python numbers, which are not differentiated
            return self.value(*(x.cast(dtypes.default_float) for x in operands)).cast(dtype)
        xs = [x.cast(dtype) for x in operands]
        if not all(all_int(x.shape) and x.numel() for x in xs):
            return self.of_wide(*xs)  # a symbolic size, or no elements
        if all(x.uop.device is None and not is_differentiated(x.uop) for x in xs):
            return self.of_wide(*xs)  # constants give a constant
        device = next((x.uop.device for x in xs if x.uop.device is not None), None)
        us = [on_device(x.uop, device) for x in xs]
        body = _body(self, tuple((u.dtype, u.shape if u.axis is None else u.shard_shape, u.device, u.axis) for u in us))
        return tensor(UOp(Ops.FUNCTION, dtypes.void, (body, *us), CallInfo(name=self.name, aux=self)).gettuple(0))

    def of_wide(self, *xs: Tensor) -> Tensor:
        """Compute the value, in float32 for float16 and bfloat16."""
        return self.value(*map(widen, xs)).cast(xs[0].dtype)

    def as_equation(self) -> tuple[str, dict[str, Any]]:
        return self.name, {}

    def batch(self, u: UOp, run: BatchingRun, args: Sequence[Batched]) -> Bundle:
        """Apply the function to the whole batch: vmap(f)(xs) = f(xs)."""
        row: Row = functools.reduce(union, (a.row for a in args), ())
        shape = (*(b.size for b in row), *u.src[0].src[0].shape)
        xs = [Batched(_broadcast_brands(a, row, shape), row) for a in args]
        order = max(map(order_as_read, xs))  # an operand in another order than 0, 1, … decides
        out = self(*(tensor(permute(x.uop, order)) for x in xs)).uop
        return Bundle(UOp.maketuple(permute(out, inverse(order))), (row,))

    def jvp(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        moved = [(d, s) for d, s in zip(tangents, self._slopes(u), strict=True) if d is not None]
        return UOp.maketuple(functools.reduce(lambda a, b: a + b, (d * s for d, s in moved))), [0]

    def vjp(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        (ct,) = cotangents
        return [None if ct is None or i not in needed else ct * s for i, s in enumerate(self._slopes(u))]

    def _slopes(self, u: UOp) -> list[UOp]:
        y, *xs = (widen(tensor(x)) for x in (*results(u), *u.src[1:]))
        return [s.cast(x.dtype).uop for s, x in zip(self.slopes(y, *xs), u.src[1:], strict=True)]


def _broadcast_brands(x: Batched, row: Row, shape: tuple[int | UOp, ...]) -> UOp:
    """Put the brands of `row` in front, broadcasting along the brands that `x` lacks."""
    example_shape = x.uop.shape[len(x.row) :]
    out: UOp = broadcast_to(x.uop.reshape((*(b.size if b in x.row else 1 for b in row), *example_shape)), shape)
    return out


@functools.lru_cache(maxsize=512)
def _body(p: Elementwise, types: tuple[Any, ...]) -> UOp:
    """Trace the formula of the value over parameters of these types; cached."""
    params = [UOp.param(i, dtype, shape, device, axis=axis) for i, (dtype, shape, device, axis) in enumerate(types)]
    with call_body():
        body: UOp = UOp.maketuple(p.of_wide(*map(tensor, params)).uop)
    return body
