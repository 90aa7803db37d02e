"""Sums of products, and the form of a kernel in which BLAS can compute them."""

from __future__ import annotations

import functools

from tinygrad import dtypes
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
    return u.op is Ops.REDUCE and u.arg == (Ops.ADD, 0) and u.src[0].op is Ops.MUL and u.dtype in _TYPES


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
