"""Denormal numbers count as zero in long sums of products, as in XLA.

A denormal operand, below 1.2e-38 for float32, or a denormal product takes Intel processors about 150 cycles.  A matrix
of `exp(-d)` with large `d` has many.  In a sum of products other terms outweigh them, so the kernel makes the processor
flush them to zero, and so does each call of BLAS: each term changes by less than 1.2e-38 times the other factor.

The switch takes 12 ns per kernel, so short sums keep their denormal numbers.  `denormal_terms` marks the kernels whose
products other kernels only add.  All other kernels keep them, since `log` and `!=` would make the difference visible.
"""

from __future__ import annotations

import math

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, UOp

from branded.backends.cpu.renderer.kernel_marks import FLUSH, marks
from branded.tinygrad_compat.private_api import AddrSpace

LEAST = 1 << 12
"""The minimum number of products in a kernel."""
NAME = "FLUSH_DENORMALS"
MACRO = """#if defined(__x86_64__)
#define FLUSH_DENORMALS \\
  unsigned before_flush, while_flushing; \\
  __asm__ volatile("stmxcsr %0" : "=m"(before_flush) : : "memory"); \\
  while_flushing = before_flush | 0x8040; \\
  __asm__ volatile("ldmxcsr %0" : : "m"(while_flushing) : "memory");
#define KEEP_DENORMALS __asm__ volatile("ldmxcsr %0" : : "m"(before_flush) : "memory");
#else
#define FLUSH_DENORMALS
#define KEEP_DENORMALS
#endif"""
"""C for the start and the end of a function: 0x8040 are the bits for denormal results and denormal operands."""


def flush(lines: list[str], uops: list[UOp]) -> list[str]:
    """Return the body of a kernel, which flushes denormal numbers if it has long sums of products or is marked."""
    is_flushing = FLUSH in marks(uops[-1]) or has_long_products(uops)
    return ["  FLUSH_DENORMALS", *lines, "  KEEP_DENORMALS"] if is_flushing else lines


def has_long_products(uops: list[UOp]) -> bool:
    """Return whether a kernel adds products of floats in a loop of many steps."""
    steps = math.prod(int(u.vmax) + 1 for u in uops if u.op is Ops.RANGE)
    stores = [u for u in uops if u.op is Ops.STORE and u.src[0].addrspace is AddrSpace.REG]
    sums = [total for place, total in (u.src for u in stores) if place.dtype in (dtypes.float32, dtypes.float64)]
    return steps * sum(map(_products, sums)) >= LEAST


def _products(total: UOp) -> int:
    """Return the number of products that one step adds; a call adds its operands, or the product of the last two."""
    if total.op is Ops.CUSTOMI:
        return 1 if len(total.src) == 3 else sum(map(_products, total.src))
    if total.op is Ops.ADD:
        return sum(map(_products, total.split_uop(Ops.ADD)))
    return int(total.op is Ops.MUL and all(u.op is not Ops.CONST for u in total.src))
