"""Marks on kernels: options without effect on the CPU, which the functions of this folder read when they write C.

tinygrad never uses `NOLOCALS` on the CPU.  As options, the marks are part of the key of each program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinygrad.uop.ops import UOp

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.private_api import Opt, OptOps, range_str

PRAGMA = '_Pragma("clang loop unroll(full)") '
"""C before a loop that clang unrolls."""


def _mark(arg: int | tuple[str, ...] | None = None) -> Any:
    return Opt(OptOps.NOLOCALS, arg=arg) if private_api.are_there(Opt, OptOps) else None


LOOPS = _mark()
"""Marks a kernel that has plain loops; the tuner's stored choices have this mark too."""
FLUSH = _mark(1)
"""Marks a kernel that flushes denormal numbers, see `denormals`."""


def unrolled_by_clang(loops: Sequence[UOp]) -> Opt:
    """Return a mark for loops of short reductions of ints, which clang unrolls.

    tinygrad unrolls a loop by one operation per step, which each of its rewrites visits: a sum of 32 rows takes it
    0.1 s.  Clang takes a few milliseconds.  It adds the terms in another order, so the loop must reduce ints.
    """
    mark: Opt = _mark(tuple(map(range_str, loops)))
    return mark


def marks(sink: UOp) -> Sequence[Opt]:
    """Return the options of a compiled kernel, which include its marks."""
    options: Sequence[Opt] = getattr(sink.arg, "applied_opts", ())
    return options


def unroll(lines: Sequence[str], sink: UOp) -> list[str]:
    """Return the body of a kernel in C whose marked loops are unrolled by clang."""
    loops = [opt.arg for opt in marks(sink) if opt.op is OptOps.NOLOCALS and isinstance(opt.arg, tuple)]
    starts = tuple(f"for (int Ridx{name} = 0;" for names in loops for name in names)
    return [x.replace("for ", f"{PRAGMA}for ", 1) if x.strip().startswith(starts) else x for x in lines]
