"""Operations that never have a batched operand: inputs of a graph, and operations of kernels."""

from tinygrad.uop.ops import Ops, UOp

from branded.core.batching.unsupported import KERNEL, KERNEL_FIX, refuse
from branded.dispatch import LEAVES, Resolution, rule
from branded.graph.primitive import Batched
from branded.graph.uops import again

# no operands that could carry a brand; a RANGE that is a brand starts a row
LEAVES |= {Ops.BUFFER, Ops.PARAM, Ops.CONST, Ops.RANGE}
LEAVES |= {op for op in Ops if op.name in ("SPECIAL", "BINARY", "SOURCE", "PYLITERAL", "GETADDR")}
LEAVES.add(Ops.SINK)  # holds the roots of the pass


@rule(Ops.CALL, Ops.CUSTOM_FUNCTION)
def call(u: UOp, resolution: Resolution, *xs: Batched) -> UOp:
    """Run a custom kernel on a whole batch, and raise an error inside vmap: a custom kernel has no batching rule."""
    if not resolution.row:
        return again(u, *(x.uop for x in xs))
    raise refuse(u, KERNEL, KERNEL_FIX, *xs)


# by name, since no graph of ours has them: another version of tinygrad may lack some
_OF_KERNELS = {
    *("NOOP", "REWRITE_ERROR", "PROGRAM", "LINEAR", "GROUP", "LOAD", "WMMA", "BARRIER", "IF", "END", "ENDIF"),
    *("CUSTOM", "CUSTOMI", "INS"),
}


@rule(*(op for op in Ops if op.name in _OF_KERNELS))
def inside_kernels(u: UOp, resolution: Resolution, *xs: Batched) -> UOp:
    """Raise an error: tinygrad creates these operations when it lowers to kernels, never in a mapped function."""
    raise refuse(u, f"{u.op.name}: this operation belongs to kernels, not to tensors", "use the methods of Tensor", *xs)
