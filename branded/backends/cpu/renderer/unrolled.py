"""Short reductions of ints as loops that clang unrolls.

tinygrad unrolls a loop by one operation per step, which each of its rewrites visits: a sum of 32 rows takes it 0.1 s.
Clang unrolls the loop in a few milliseconds.  It adds the terms in another order, so the loop must reduce ints.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinygrad.uop.ops import UOp

from branded.tinygrad_compat.private_api import Opt, OptOps, range_str

MARK = '_Pragma("clang loop unroll(full)") '
"""C before a loop that clang unrolls."""


def by_clang(loops: Sequence[UOp]) -> Opt:
    """Return an option that marks some loops of a kernel: one without effect on the CPU, like `LOOPS`."""
    return Opt(OptOps.NOLOCALS, None, tuple(map(range_str, loops)))


def mark(lines: Sequence[str], uops: Sequence[UOp]) -> list[str]:
    """Return the body of a kernel in C whose marked loops are unrolled by clang."""
    options = uops[-1].arg.applied_opts
    marked = [name for opt in options if opt.op is OptOps.NOLOCALS and isinstance(opt.arg, tuple) for name in opt.arg]
    starts = tuple(f"for (int Ridx{name} = 0;" for name in marked)
    return [x.replace("for ", f"{MARK}for ", 1) if x.strip().startswith(starts) else x for x in lines]
