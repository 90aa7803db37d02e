"""Matrix operations as primitives: implementation and derivatives, written once for all batches.

An operation works on the last two axes of its operands.  All leading axes are a batch, which broadcasts as in numpy, so
the same rule serves one example and all examples together.

    solve(a, b)         a: f32[3, 3] over brand {i}, b: f32[3, 1] over brand {j}
    for all examples    a: f32[i, 1, 3, 3] and b: f32[1, j, 3, 1]

Operands shared by all examples are not repeated: if only `b` is batched, there is one matrix `a`, and the examples of
`b` become its columns.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence, Set
from typing import Any, TypeVar

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import Ops, UOp

from branded.autodiff.leaves import transforming
from branded.autodiff.reverse import pull_back
from branded.backends.cpu.renderer.loops import cpu_codegen
from branded.core.tracing.closure_conversion import closure_converted
from branded.core.tracing.step import param
from branded.graph.primitive import Batched, BatchingRun, Bundle, Primitive, results
from branded.graph.scope import Row, call_body, union
from branded.graph.tags import Level, leaf, symbolic_zero
from branded.graph.uops import on_device, tensor
from branded.tinygrad_compat.private_api import CallInfo, broadcast_to

P = TypeVar("P", bound="MatrixOperation")


class MatrixOperation(Primitive):
    """An operation on a batch of matrices.  Equal operations are the same object (see `one`)."""

    name = ""
    is_atomic = is_local = True

    def run(self, a: Tensor, *others: Tensor) -> Sequence[Tensor]:
        """Compute the results by tinygrad operations or by a host callback."""
        raise NotImplementedError

    def tangents(self, xs: Sequence[Tensor], ys: Sequence[Tensor], dxs: Sequence[Tensor | None]) -> Sequence[Tensor]:
        """Compute the tangents of the results from operands, results, and the tangents of the operands.

        The last results may have none, such as indices.
        """
        raise NotImplementedError

    def cotangents(
        self, xs: Sequence[Tensor], ys: Sequence[Tensor], cts: Sequence[Tensor | None], needed: Set[int]
    ) -> Sequence[Tensor | None]:
        """Compute the needed cotangents of the operands, by transposing the linear map `tangents`."""
        wanted = sorted(needed)
        levels = [Level() for _ in wanted]
        leaves = [leaf(symbolic_zero(xs[i].uop), level) for i, level in zip(wanted, levels, strict=True)]
        dxs: list[Tensor | None] = [None] * len(xs)
        for i, u in zip(wanted, leaves, strict=True):
            dxs[i] = tensor(u)
        with transforming(levels):
            dys = self.tangents(xs, ys, dxs)
            pairs = [(d.uop, ct.uop) for d, ct in zip(dys, cts, strict=False) if ct is not None]
            grads, _ = pull_back([d for d, _ in pairs], [ct for _, ct in pairs], leaves)
        grad_of = dict(zip(wanted, map(tensor, grads), strict=True))
        return [grad_of.get(i) for i in range(len(xs))]

    def of_all(self, *xs: Tensor) -> list[Tensor]:
        """Apply the operation to whole batches, without repeating shared operands."""
        return apply_operation(self, *xs)

    def as_equation(self) -> tuple[str, dict[str, Any]]:
        return f"linalg.{self.name}", self.options()

    def options(self) -> dict[str, Any]:
        """Return the arguments of the public function that select this operation."""
        return {}

    def batch(self, u: UOp, run: BatchingRun, args: Sequence[Batched]) -> Bundle:
        """Apply the operation to operands that have the brands in front of their own batch."""
        row: Row = functools.reduce(union, (a.row for a in args), ())
        sizes = tuple(b.size for b in row)
        shapes = [sizes + tuple(y.shape) for y in u.src[0].src]
        if 0 in sizes:
            zeros = (broadcast_to(UOp.const(0, y.dtype), shape) for y, shape in zip(u.src[0].src, shapes, strict=True))
            return Bundle(UOp.maketuple(*zeros), (row,) * len(shapes))
        ndim = max(len(a.uop.shape) - len(a.row) for a in args)
        ys = self.of_all(*(tensor(_align_batch(a, row, ndim)) for a in args))
        outputs = [
            y.uop if y.shape == shape else broadcast_to(y.uop, shape) for y, shape in zip(ys, shapes, strict=True)
        ]
        return Bundle(UOp.maketuple(*outputs), (row,) * len(outputs))

    def jvp(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        dys = self.tangents(*_operands_and_results(u), [None if d is None else tensor(d) for d in tangents])
        ys = u.src[0].src
        outs = [broadcast_to(d.cast(y.dtype).uop, y.shape) for d, y in zip(dys, ys, strict=False)]
        return UOp.maketuple(*outs), [*range(len(outs)), *[None] * (len(ys) - len(outs))]

    def vjp(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        cts = [None if ct is None else tensor(ct) for ct in cotangents]
        grads = self.cotangents(*_operands_and_results(u), cts, needed)
        return [None if g is None else g.cast(x.dtype).uop for g, x in zip(grads, u.src[1:], strict=True)]


class MatrixFunction(MatrixOperation):
    """An operation on one matrix."""

    def tangents(self, xs: Sequence[Tensor], ys: Sequence[Tensor], dxs: Sequence[Tensor | None]) -> Sequence[Tensor]:
        (da,) = dxs
        assert da is not None
        return self.tangent(xs[0], ys, da)

    def tangent(self, a: Tensor, ys: Sequence[Tensor], da: Tensor) -> Sequence[Tensor]:
        """Compute the tangents of the results from the matrix, the results, and the tangent of the matrix."""
        raise NotImplementedError


def _operands_and_results(u: UOp) -> tuple[list[Tensor], list[Tensor]]:
    return [tensor(x) for x in u.src[1:]], [tensor(y) for y in results(u)]


def _align_batch(x: Batched, row: Row, ndim: int) -> UOp:
    """Put the brands of `row` in front of the batch of `x`, with size 1 for brands that `x` does not vary over."""
    if not x.row:
        return x.uop
    n = len(x.row)
    sizes = {b: x.uop.shape[i] for i, b in enumerate(x.row)}
    front = tuple(sizes.get(b, 1) for b in row)
    shape = (*front, *(1,) * (ndim - len(x.uop.shape) + n), *x.uop.shape[n:])
    return x.uop.reshape(shape)


@functools.cache
def one(kind: Callable[..., P], *options: Any) -> P:
    """Return the operation of this kind with these options, the same object on every call."""
    return kind(*options)


def apply_operation(p: MatrixOperation, *operands: Tensor) -> list[Tensor]:
    """Apply the operation as one FUNCTION in the graph; each operand has its own batch."""
    device = next((x.uop.device for x in operands if x.uop.device is not None), None)
    xs = [on_device(x.contiguous().uop if x.uop.op is Ops.CONST else x.uop, device) for x in operands]
    body = _body(p, tuple((x.shape, x.dtype, x.device) for x in xs), bool(cpu_codegen.value))
    u = UOp(Ops.FUNCTION, dtypes.void, (body, *xs), CallInfo(name=p.name, aux=p))
    return [tensor(y) for y in results(u)]


@functools.lru_cache(maxsize=512)
def _body(p: MatrixOperation, types: tuple[Any, ...], has_room: bool) -> UOp:
    """Trace the operation over parameters, once for operands of these types.

    `has_room` is part of the cache key, because the body depends on the CPU codegen.
    """
    params = [param(*t) for t in types]
    with call_body():
        ys = p.run(*map(tensor, params))
    body, fixed = closure_converted([y.uop for y in ys], params)
    assert not fixed, "an operation on matrices has no values of its own"
    return body


def matrix_transpose(x: Tensor) -> Tensor:
    return x.transpose(-2, -1)


def summed_to(g: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Sum the cotangent `g` over the axes along which a value of this shape was broadcast."""
    extra = len(g.shape) - len(shape)
    axes = [*range(extra), *(i + extra for i, n in enumerate(shape) if n == 1 and g.shape[i + extra] != 1)]
    g = g.sum(tuple(axes), keepdim=True) if axes else g
    return g.reshape(shape)


def as_columns(a: Tensor, b: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Move the batch axes of `b` that share one matrix `a` into its columns; return `b` and the inverse function.

    a: [4, 1, n, n]     b: [4, 5, n, k]     each of the four matrices is shared by five right sides
    b: [4, 1, n, 5 k]
    """
    ndim = len(b.shape) - 2
    batch = [1] * (ndim - len(a.shape) + 2) + list(a.shape[:-2])
    batch = batch[len(batch) - ndim :]
    shared = [i for i in range(ndim) if batch[i] == 1 and b.shape[i] != 1]
    if not shared:
        return b, lambda x: x
    rest = [i for i in range(ndim) if i not in shared]
    n, k = b.shape[-2:]
    wide = b.permute(*rest, ndim, *shared, ndim + 1)
    front = [1 if i in shared else b.shape[i] for i in range(ndim)]
    count = math.prod(b.shape[i] for i in shared)
    sizes = [b.shape[i] for i in shared]

    def back(x: Tensor) -> Tensor:
        """Restore the batch axes; `x` has more of them than `b` if `a` has."""
        extra = len(x.shape) - 2 - ndim
        now = [*x.shape[:extra], *(x.shape[extra + i] for i in rest), n, *sizes, k]
        y = x.reshape(now)
        where = {axis: extra + i for i, axis in enumerate((*rest, ndim, *shared, ndim + 1))}
        return y.permute(*range(extra), *(where[i] for i in itertools.chain(range(ndim), (ndim, ndim + 1))))

    return wide.reshape(*front, n, count * k), back
