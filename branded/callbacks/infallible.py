"""Host callbacks that never raise, for functions of this package; they may have a derivative."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import ClassVar

from tinygrad import dtypes
from tinygrad.dtype import DType
from tinygrad.uop.ops import UOp

from branded.callbacks.host import Host, ShapeDtype, call_on_graphs, sizes
from branded.graph.primitive import results
from branded.graph.uops import tensor
from branded.tinygrad_compat.private_api import broadcast_shape


class InfallibleHost(Host):
    """A function of this package that never raises, so it may run even if its results are not used.

    It therefore gets no flag, and its derivative rules receive only its own arguments.
    """

    can_fail = False

    def apply(self, shape: tuple[int, ...], dtype: DType, *args: UOp) -> UOp:
        """Return its only result."""
        return call_on_graphs(self, [ShapeDtype(shape, dtype)], args)[0]


class DifferentiableHost(InfallibleHost):
    """An infallible function of one result, linear in one of its arguments unless a subclass has another `tangent`."""

    active: ClassVar[int] = 0
    """The index of the argument with a derivative."""

    def tangent(self, u: UOp, d: UOp) -> UOp:
        """Return the tangent of the result."""
        args, (y,) = list(u.src[1:]), results(u)
        args[self.active] = d
        return self.apply(sizes(y), y.dtype, *args)

    def cotangent(self, u: UOp, ct: UOp) -> UOp:
        """Return the cotangent of the argument, before the sum over axes along which the argument was broadcast."""
        raise NotImplementedError

    def jvp(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        if (d := tangents[self.active]) is None or not dtypes.is_float(u.src[1 + self.active].dtype):
            return u, [None]
        return UOp.maketuple(*results(u), self.tangent(u, d)), [1]

    def vjp(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        found: list[UOp | None] = [None] * (len(u.src) - 1)
        if (ct := cotangents[0]) is not None:
            found[self.active] = summed_to(self.cotangent(u, ct), u.src[1 + self.active])
        return found


def batch_of(*args: UOp) -> tuple[int, ...]:
    """Return the broadcast shape of the arguments without their last axes."""
    return broadcast_shape(*(sizes(x)[:-1] for x in args))


def summed_to(g: UOp, x: UOp) -> UOp:
    """Sum a cotangent over the axes along which the argument `x` was broadcast."""
    axes = tuple(i for i, n in enumerate(x.shape) if n == 1 and g.shape[i] != 1)
    return tensor(g).sum(axes, keepdim=True).uop if axes else g
