"""Chunks: a batch that is mapped in pieces, each of which is worked out by itself in memory that the pieces share."""

from __future__ import annotations

from tinygrad import Tensor, function
from tinygrad.uop.ops import Ops, UOp

from branded.crossing import lower
from branded.graph import tensor
from branded.patches.tg import _function, all_tensors
from branded.rows import row_of
from branded.rules.storage import in_memory
from branded.scope import in_call_body, open_brands


def chunk_of(x: Tensor, axis: int, start: int, stop: int) -> Tensor:
    part = x.shrink(tuple((start, stop) if i == axis else None for i in range(x.ndim)))
    # where its chunk is no call of its own, it is an argument of the same kernels as the others
    return tensor(in_memory(part.uop)) if open_brands() or in_call_body() else part


def as_one_step(inputs: list[Tensor], outputs: list[Tensor]) -> list[Tensor]:
    """The results of a chunk, computed by one call that tinygrad schedules by itself.

    Its intermediate buffers are then free for the next chunk, and chunks of one size share its kernels.  Under an
    outer brand there is nothing to schedule yet, but it is said that each chunk is to be worked out by itself; such
    calls do not nest in tinygrad, nor take writes.
    """
    graph = UOp.sink(*lower([y.uop for y in outputs])).toposort()
    inside = open_brands() or in_call_body() or _function.depth
    if not outputs or inside or not all(map(_may_be_in_a_call, graph)):
        return [tensor(in_memory(y.uop)) for y in outputs]
    if any(y.uop.is_virtual or 0 in y.shape for y in outputs):
        return outputs
    # every tensor that there is may be asked for its gradient, so it must be an argument
    out = {y.uop for y in outputs}
    seen = [t for ref in list(all_tensors) if (t := ref()) is not None and t.uop in graph and t.uop not in out]
    arguments = [t for t in seen if not t.uop.is_virtual and not row_of(t.uop)]
    step = function(lambda *_: tuple(outputs), precompile=True, precompile_backward=True, allow_implicit=True)
    call = step(*inputs, *arguments)[0].uop.src[0]
    return [tensor(call.gettuple(i)) for i in range(len(outputs))]


def _may_be_in_a_call(u: UOp) -> bool:
    return u.op is not Ops.STORE and not (u.op is Ops.FUNCTION and u.arg.precompile)


def joined(parts: list[Tensor], axis: int, width: int = 16) -> Tensor:
    """The chunks as one tensor; joined in a tree, so that no kernel reads too many."""
    while len(parts) > 1:
        parts = [parts[i].cat(*parts[i + 1 : i + width], dim=axis) for i in range(0, len(parts), width)]
        if len(parts) > 1:
            parts = [p.contiguous() for p in parts]
    return parts[0]
