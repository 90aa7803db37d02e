"""Causes of slow kernels, and suggested changes, found in the kernels rather than in their times."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tinygrad.uop.ops import Ops, UOp

from branded.compile.kernel_times import HOST, Timed

MANY, SMALL = 32, 1 << 14
"""From how many kernels, of at most how many bytes each, a program is one of many small kernels."""
TRACES = 8
"""From how many traces on a compiled function is one that is traced again and again."""
LARGE = 1 << 20
"""The size in bytes from which memory that is read across its rows, or computed in each call, has a cost."""
PLACES = 64
"""The number of places from which a comparison of an index with each of them has a cost."""
LINE = 64
"""The bytes that the processor reads at least."""


class Cause(NamedTuple):
    """A reason for the time of a kernel, or of several, and a change of the program that removes it."""

    kernel: str
    reason: str
    fix: str

    def __str__(self) -> str:
        return f"{self.kernel}: {self.reason}\n  try: {self.fix}"


def causes(kernels: Sequence[Timed]) -> list[Cause]:
    """Return the known causes in the kernels of a call, each once."""
    found = [c for k in kernels for c in _of(k)]
    small = [k for k in kernels if not k.depth and k.kernel is not None and k.bytes <= SMALL * k.runs]
    if len(small) >= MANY:
        reason = f"read and write at most {SMALL >> 10} kB each, so that starting them is most of the work"
        found.append(
            Cause(f"{len(small)} kernels", reason, "stack the operands, and use `vmap` instead of a Python loop")
        )
    return list(dict.fromkeys(found))


def tracing(seconds: float, kernels: float, traces: int) -> list[Cause]:
    """Return the causes of a call whose time is in Python: a function without `jit`, or one that is traced again."""
    if traces >= TRACES:
        reason = f"traced {traces} times, because shapes, dtypes or static arguments changed between calls"
        fix = "pad arguments to one shape, and pass numbers as tensors; `BRANDED_LOG=traces` prints each change"
        return [Cause("the call", reason, fix)]
    reason = f"Python takes {seconds * 1e3:.1f} ms to build the graph of each call, longer than the kernels run"
    is_slow = 0 < 2 * kernels < seconds
    return [Cause("the call", reason, "`jit(f)`, which builds the graph once")] if is_slow else []


def _of(k: Timed) -> Iterator[Cause]:
    if k.name.startswith(HOST):
        where = f"in each of {k.runs} steps" if k.depth else "in each call"
        fix = "write it with operations on tensors" + (", or call it once before or after the loop" if k.depth else "")
        yield Cause(k.name.removeprefix(HOST), f"a Python function that the kernels wait for {where}", fix)
    if k.kernel is None or k.kernel.op is not Ops.PROGRAM:
        return
    graph = k.kernel.src[1].src  # in the order of execution
    if places := _places(graph):
        reason = f"each index is compared with all {places} places, so that it reads or writes the whole table"
        yield Cause(k.name, reason, "`table[i]` to read, `segment_sum` or `index_add` to add at an index")
    stored = [u for u in graph if u.op is Ops.STORE]
    if not any(u.op is Ops.LOAD for u in graph) and k.bytes >= LARGE * k.runs and any(u.src[1].ranges for u in stored):
        reason = f"{k.bytes / k.runs / 1e6:.0f} MB that depend on no argument are computed in each call"
        yield Cause(k.name, reason, "compute the value once outside the function, with `.clone().realize()`")
    loops = [u for u in graph if u.op is Ops.RANGE]
    if any(_crosses_rows(memory, reads, loops) for memory, reads in _reads(graph).items()):
        reason = "a transposed read: neighbours in the result are in different rows of the memory that is read"
        yield Cause(
            k.name, reason, "pass a transposed copy, `x.T.contiguous().realize()`, made once outside the function"
        )


def _places(graph: Sequence[UOp]) -> int:
    """Return the number of places with which each entry of an argument is compared, or 0 if there are few."""
    places = [place for u in graph if u.op in {Ops.CMPNE, Ops.CMPEQ} and (place := _compared_place(u)) is not None]
    number = max(int(p.vmax) for p in places) - min(int(p.vmin) for p in places) + 1 if places else 0
    return number if number >= PLACES else 0


def _compared_place(u: UOp) -> UOp | None:
    """Return the side of a comparison that counts with a loop, if the other side is read from memory."""
    is_read = [any(x.op is Ops.LOAD for x in side.toposort()) for side in u.src]
    if is_read[0] == is_read[1]:
        return None
    place = u.src[is_read.index(False)]
    return place if place.ranges else None


def _reads(graph: Sequence[UOp]) -> dict[UOp, list[UOp]]:
    """Return the positions at which each argument is read."""
    reads: dict[UOp, list[UOp]] = {}
    for u in graph:
        if u.op is Ops.LOAD and u.src[0].op in {Ops.INDEX, Ops.SHRINK} and u.src[0].src[0].op is Ops.PARAM:
            reads.setdefault(u.src[0].src[0], []).append(u.src[0].src[1])
    return reads


def _crosses_rows(memory: UOp, reads: Sequence[UOp], loops: Sequence[UOp]) -> bool:
    """Return whether all positions that one step of the innermost loop reads, and the next, are in different rows."""
    loops = [r for r in loops if any(r in at.ranges for at in reads)]
    if not loops or int(memory.max_numel()) * memory.dtype.itemsize < LARGE:
        return False
    now, then = ([_position(at, loops, int(i)) for at in reads] for i in (0, 1))
    places = sorted({p for p in (*now, *then) if p is not None})
    steps = [b - a for a, b in itertools.pairwise(places)]
    return None not in (*now, *then) and bool(steps) and min(steps) * memory.dtype.itemsize > LINE


def _position(at: UOp, loops: Sequence[UOp], step: int) -> int | None:
    """Return the position in the first step of all loops and in step `step` of the innermost one, if it is known."""
    values = {r: r.const_like(step if r is loops[-1] else 0) for r in loops}
    values |= {u: u.const_like(0) for u in at.toposort() if u.op is Ops.PARAM}
    found = at.substitute(values).simplify()
    return int(found.vmin) if found.vmin == found.vmax else None
