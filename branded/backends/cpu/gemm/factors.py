"""Sums of products, and the form of a kernel in which BLAS can compute them."""

from __future__ import annotations

import functools
import math
import operator

from tinygrad import dtypes
from tinygrad.dtype import DType
from tinygrad.uop.ops import Ops, UOp

from branded.backends.cpu.gemm import cost
from branded.tinygrad_compat.private_api import KernelInfo

_TYPES, _HALVES = (dtypes.float32, dtypes.float64), (dtypes.float16, dtypes.bfloat16)


@functools.lru_cache(maxsize=1024)
def exact(ast: UOp) -> UOp:
    """Return the kernel with float16 and bfloat16 factors converted before a float32 sum of their products."""
    if not isinstance(ast.arg, KernelInfo) or ast.arg.opts_to_apply is not None:
        return ast
    found = [u for u in ast.toposort() if u.op is Ops.REDUCE and u.arg[0] is Ops.ADD and u.dtype == dtypes.float32]
    new = dict[UOp, UOp]()
    for u in found:
        of = u.src[0].src[0] if u.src[0].op is Ops.CAST else u
        if of.op is Ops.MUL and of.dtype in _HALVES:
            a, b = (x.cast(u.dtype) for x in of.src)
            new[u.src[0]] = a * b
    return ast.substitute(new) if new else ast


def is_sum_of_products(u: UOp) -> bool:
    """Return whether a value is a sum of products of float32 or float64."""
    return _sums_products(u) and u.dtype in _TYPES


def _sums_products(u: UOp) -> bool:
    return u.op is Ops.REDUCE and u.arg == (Ops.ADD, 0) and u.src[0].op is Ops.MUL


_EXACT = {dtypes.float32: 1 << 24, dtypes.float64: 1 << 53}
"""The largest int up to which a float represents each int."""

_FEW = 8
"""Ints that a kernel reads fewer times than this are not converted: the copy would cost more than BLAS saves."""


def ints_as_floats(value: UOp) -> UOp:
    """Return a value whose sums of products of ints are computed in floats that represent each partial sum.

    Such a sum of products of int8 has up to 1,024 terms in float32.
    """
    new = dict[UOp, UOp]()
    for red in filter(_sums_products, value.toposort()):
        if not dtypes.is_int(red.dtype) or any(r.src[0].op is not Ops.CONST for r in red.src[1:]):
            continue
        factors = list(cost.factors_of(red.src[0]))
        ranges = {*red.ranges, *red.src[1:]}
        if any(cost.elements(ranges - {*u.ranges}) < _FEW for u in factors if u.op is not Ops.CONST):
            continue
        largest = math.prod([max(abs(int(u.vmin)), abs(int(u.vmax))) for u in factors] + [*map(cost.size, red.src[1:])])
        to = next((dtype for dtype, limit in _EXACT.items() if largest <= min(limit, red.dtype.max)), None)
        if to is not None:
            product = functools.reduce(operator.mul, [_as_float(u, to) for u in factors])
            new[red] = UOp(Ops.REDUCE, to, (product, *red.src[1:]), red.arg).cast(red.dtype)
    out: UOp = value.substitute(new) if new else value
    return out


def _as_float(u: UOp, to: DType) -> UOp:
    """Return an int as a float; a conversion to a wider int before it is left out."""
    before = u.src[0].dtype if u.op is Ops.CAST else None
    is_widened = before in dtypes.ints and u.dtype.min <= before.min and before.max <= u.dtype.max
    out: UOp = (u.src[0] if is_widened else u).cast(to)
    return out


def scalars_outside(value: UOp) -> UOp:
    """Return a value whose sums of products are multiplied by scalars afterwards; the bodies of loops have constants.

    sum(a * c * b) = c * sum(a * b)
    """
    new = dict[UOp, UOp]()
    for red in filter(is_sum_of_products, value.toposort()):
        factors = list(cost.factors_of(red.src[0]))
        scalars = [u for u in factors if u.op is not Ops.CONST and not u.ranges]
        if scalars and len(factors) > len(scalars) + 1:
            product = functools.reduce(lambda x, y: x * y, [u for u in factors if u not in scalars])
            new[red] = functools.reduce(lambda x, y: x * y, scalars, red.replace(src=(product, *red.src[1:])))
    out: UOp = value.substitute(new)
    return out
