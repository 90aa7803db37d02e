"""A scan in segments under a progress bar: each segment is evaluated before the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded.core.progress import bar
from branded.core.tracing.step import Carry, Input
from branded.graph.uops import concatenate_chunks, tensor

PARTS = 100
"""The maximum number of segments; the bar is updated after each. Segments of one size are compiled once."""

Run = Callable[[list[Carry], list[Input], int], list[UOp]]
"""Run a number of steps from these carries, and return the last carries and the stacked outputs."""


def by_parts(
    api_name: str, run: Run, carries: Sequence[Carry], inputs: Sequence[Input], n: int, reverse: bool
) -> list[Tensor]:
    """Run `n` >= 1 steps and return the last carries and the stacked outputs."""
    size, k = -(-n // PARTS), len(carries)
    starts, parts = range(0, n, size), list[list[Tensor]]()
    values = [c.init for c in carries]
    with bar(n, api_name, "steps") as made:
        for start in reversed(starts) if reverse else starts:
            stop = min(start + size, n)
            own = [c._replace(init=x) for c, x in zip(carries, values, strict=True)]
            given = [x._replace(whole=_steps(x.whole, start, stop)) for x in inputs]
            done = [tensor(x).contiguous() for x in run(own, given, stop - start)]
            Tensor.realize(*done)
            values = [t.uop for t in done[:k]]
            parts.append(done[k:])
            made(stop - start)
    if reverse:
        parts.reverse()
    return [*map(tensor, values), *(concatenate_chunks(list(ys), 0) for ys in zip(*parts, strict=True))]


def _steps(x: UOp, start: int, stop: int) -> UOp:
    out: UOp = x.shrink(((start, stop), *((0, s) for s in x.shape[1:])))
    return out
