"""The kernels of a graph: the bytes that each kernel reads and writes, and its loops as portable C.

tinygrad's scheduler decides which operations are fused into one kernel, and which values are stored in memory. Each
kernel is shown before device-specific optimization (unrolling, vectors, threads, BLAS): as a plain loop, which is the
same on every machine. A line above the loop reports if the CPU backend runs the kernel in another way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tinygrad.helpers import Context
from tinygrad.uop.ops import Ops, UOp

from branded.backends.cpu.gemm import blas, match
from branded.backends.cpu.renderer.loops import suits
from branded.compile.compiled_loop import LoopName
from branded.control_flow.loop_primitive import Loop
from branded.control_flow.scan import Scan
from branded.graph.uops import nbytes, replace_ops
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.activation import in_engine
from branded.tinygrad_compat.private_api import CStyleLanguage, Target, ansistrip, to_program


class Kernel(NamedTuple):
    """A kernel: the numbers of bytes that it reads and writes, and its code."""

    name: str
    reads: int
    writes: int
    code: str
    largest: int
    """The size in bytes of the largest buffer that it writes."""

    def data(self) -> dict[str, Any]:
        return {"name": self.name, "reads": self.reads, "writes": self.writes, "code": self.code}


class _PlainC(CStyleLanguage):  # type: ignore[misc]  # imports through private_api are Any
    """Renders a kernel as C that is easy to read, with one loop for each axis."""

    has_local = has_shared = supports_float4 = False


@in_engine
def kernels(roots: Sequence[UOp]) -> list[Kernel]:
    """Return the kernels that compute these values, in execution order.

    The kernels are neither compiled nor run. Copies between devices are not included.

    Example:
        >>> from branded import vmap
        >>> from branded.explain.kernels import kernels
        >>> from tinygrad import Tensor
        >>> a, b = Tensor([1, 2, 3]).realize(), Tensor([4, 5]).realize()
        >>> for k in kernels([vmap(lambda a: vmap(lambda b: a + b)(b))(a).uop]):
        ...     print(k.name, k.reads, k.writes)
        ...     print(k.code)
        E_3_2 20 24
        void E_3_2(int* data0_6, int* data1_3, int* data2_2) {
          for (int Lidx0 = 0; Lidx0 < 3; Lidx0++) {
            int val0 = (*(data1_3+Lidx0));
            for (int Lidx1 = 0; Lidx1 < 2; Lidx1++) {
              int val1 = (*(data2_2+Lidx1));
              *(data0_6+((Lidx0<<1)+Lidx1)) = ((int)(((unsigned int)(val0))+((unsigned int)(val1))));
            }
          }
        }
    """
    wanted = [u for u in roots if u.device is not None and 0 not in u.shape]
    if not wanted:
        return []
    with Context(CAPTURING=0, NOOPT=1, BRANDED_CPU=0):  # type: ignore[no-untyped-call]
        big, _ = private_api.transform_to_call(UOp.sink(*wanted))
        linear, _ = private_api.create_linear_with_vars(big)
        return [k for call in linear.src if (k := _kernel(call)) is not None]


def _kernel(call: UOp) -> Kernel | None:
    ast = call.src[0]
    if isinstance(ast.arg, LoopName):
        return _loop(call, ast.arg.loop)
    if ast.op is not Ops.SINK:
        return None
    program = to_program(ast, _PlainC(Target("CPU")))
    code = "\n".join([*_on_the_cpu(call), next(s.arg for s in program.src if s.op is Ops.SOURCE)])
    buffers = [s for s in call.src[1:] if not s.is_bound_var]
    outs = [nbytes(buffers[i]) for i in program.arg.outs]
    ins = [nbytes(buffers[i]) for i in program.arg.ins]
    return Kernel(ansistrip(program.arg.name), sum(ins), sum(outs), code, max(outs, default=0))


def _on_the_cpu(call: UOp) -> list[str]:
    """Describe how the CPU backend runs the kernel, if that differs from tinygrad's way."""
    ast = call.src[0]
    buffers = [u.base for u in call.src[1:] if not u.is_bound_var]
    if (recipe := match.recipe(ast, buffers[0] in buffers[1:])) is not None:
        products = [p.code.arg.product for p in recipe.parts if isinstance(p.code.arg, blas.ProductName)]
        if products:
            by = "by BLAS" if all(isinstance(p, blas.Product) for p in products) else "without copies of windows"
            return [f"// on the CPU {by}: {', '.join(map(_product_text, products))}"]
        if any(p.code.op is Ops.SINK and p.code.arg.opts_to_apply is not None for p in recipe.parts):
            return ["// on the CPU as a loop over the entries, which adds each at its index"]
        return ["// on the CPU as several kernels"]
    if suits(private_api.Scheduler(ast, _PlainC(Target("CPU")))):
        return ["// on the CPU as plain loops, which clang vectorizes"]
    return []


def _product_text(p: blas.Multiplication) -> str:
    """Describe a matrix multiplication: `8 products of 48 x 32 by 32 x 40`."""
    count = math.prod(loop.size for loop in p.loops)
    return f"{f'{count} products' if count > 1 else 'a product'} of {p.m} x {p.k} by {p.k} x {p.n}"


def _loop(call: UOp, loop: Loop) -> Kernel:
    """Return a `scan` or `while_loop` as one kernel, whose code shows the kernels of its step."""
    results = len(call.src) - 1 - len(call.src[0].src)
    outs = len(loop.step.src) if isinstance(loop, Scan) else loop.carries
    writes, reads = [nbytes(b) for b in call.src[1 : 1 + outs]], [nbytes(b) for b in call.src[1 + outs : results + 1]]
    stand_ins = {p: UOp.new_buffer(p.device, int(p.max_numel()), p.dtype).reshape(p.shape) for p in loop.params()}
    step = kernels([x for x in replace_ops(loop.step.src, stand_ins.get) if x not in stand_ins.values()])
    often = f"{loop.length} steps" if isinstance(loop, Scan) else "as many steps as its predicate wants"
    code = "\n".join([f"// {loop.api_name}: {often}, each of them", *(k.code for k in step)])
    return Kernel(loop.api_name, sum(reads), sum(writes), code, max(writes, default=0))
