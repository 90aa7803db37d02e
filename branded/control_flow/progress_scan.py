"""A scan in segments under a progress bar: each segment is evaluated before the next."""

from __future__ import annotations

from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded.control_flow.effects import with_effect
from branded.control_flow.scan import ScanLoop
from branded.core.progress import bar
from branded.core.tracing.body import Traced
from branded.graph.uops import concatenate_chunks, tensor

PARTS = 100
"""The maximum number of segments; the bar is updated after each. Segments of one size are compiled once."""


def by_parts(api_name: str, traced: Traced, loop: ScanLoop) -> list[Tensor]:
    """Run a loop of one or more steps, and return the last carries and the stacked outputs."""
    n, k = loop.length, len(loop.carries)
    size = -(-n // PARTS)
    starts, parts = range(0, n, size), list[list[Tensor]]()
    values = [c.init for c in loop.carries]
    with bar(n, api_name, "steps") as advance:
        for start in reversed(starts) if loop.reverse else starts:
            stop = min(start + size, n)
            carries = [c._replace(init=x) for c, x in zip(loop.carries, values, strict=True)]
            inputs = [x._replace(whole=_steps(x.whole, start, stop)) for x in loop.inputs]
            part = loop._replace(carries=carries, inputs=inputs, length=stop - start)
            done = [tensor(x).contiguous() for x in with_effect(api_name, traced, part)]
            Tensor.realize(*done)
            values = [t.uop for t in done[:k]]
            parts.append(done[k:])
            advance(stop - start)
    if loop.reverse:
        parts.reverse()
    return [*map(tensor, values), *(concatenate_chunks(list(ys), 0) for ys in zip(*parts, strict=True))]


def _steps(x: UOp, start: int, stop: int) -> UOp:
    out: UOp = x.shrink(((start, stop), *((0, s) for s in x.shape[1:])))
    return out
