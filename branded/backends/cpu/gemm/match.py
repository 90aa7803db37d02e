"""Recognition of kernels that are matrix multiplications or scatters, and their replacements.

A kernel is loops over an expression.  A sum of products of two factors is a matrix multiplication if each factor
depends on loops that the other one does not.  The names of the axes do not matter: `a @ b`, an einsum, and a
matrix-vector product for each example of a batch all match.  BLAS then works directly on the buffers if their strides
allow it, and `contraction` reads windows of buffers.  A factor that is not a buffer (an `exp`, a mask) is precomputed
if that is cheaper than computing it in the loops.  Operations on the sums follow.

Sums of products of ints are computed in floats if these represent all partial sums.

tinygrad rounds each product of float16 or bfloat16 and sums in float32; here the factors are converted to float32.

Three rewrites apply to any kernel.  A value that each turn of a loop would recompute, such as the `exp` of a vector
that every row uses, is precomputed.  Column sums are computed for groups of rows: see `columns`.  Sums that select
entries by an index are computed from these entries alone: see `scatter`.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat

from branded import tinygrad_compat
from branded.backends.cpu.autotune import config
from branded.backends.cpu.gemm import blas
from branded.backends.cpu.gemm.factors import exact, ints_as_floats, scalars_outside
from branded.backends.cpu.gemm.recipe import Recipe, RecipeBuilder
from branded.backends.cpu.renderer import loops as kernels
from branded.backends.cpu.runtime import native
from branded.tinygrad_compat import features, private_api
from branded.tinygrad_compat.private_api import Estimates, KernelInfo, graph_rewrite


@functools.lru_cache(maxsize=1024)
def recipe(
    ast: UOp,
    is_read: bool,
    always: bool = False,
    new: tuple[int, ...] = (),
    has_blas: bool = True,
    fixed: tuple[int, ...] = (),
) -> Recipe | None:
    """Return the calls that replace a kernel, or None to keep it; with `is_read` it reads the buffer that it writes.

    `always` uses BLAS wherever it is possible, even if it is slower.  The arguments in the slots `new` are buffers that
    another recipe added.  Without BLAS, sums of products stay in kernels.  The arguments in the slots `fixed` are the
    same in each step of the loop that the kernel belongs to.
    """
    if not isinstance(ast.arg, KernelInfo) or ast.arg.opts_to_apply is not None or len(ast.src) != 1:
        return None
    if not any(u.op is Ops.REDUCE or u.op in kernels.DEAR for u in ast.toposort()):
        return None
    if any(u.op is Ops.RANGE and u.src[0].op is not Ops.CONST for u in ast.toposort()):
        return None  # a loop over a Variable has no constant length before the kernel runs
    if any(u.op is Ops.FLOORMOD for u in ast.toposort()):
        ast = graph_rewrite(
            ast, private_api.pm_split_ranges + private_api.pm_flatten_range, ctx={}, name="split ranges"
        )
    store, *over = ast.src[0].src if ast.src[0].op is Ops.END else ast.src  # the sum of all elements has no loops
    if store.op is not Ops.STORE or len(store.src) != 2:
        return None
    to, value = store.src
    if to.src[0].op is not Ops.PARAM:
        return None  # a buffer in another shape, as in a chunk
    options = over, is_read, always, new, fixed
    if has_blas and (floats := ints_as_floats(value)) is not value:
        found = RecipeBuilder(to, scalars_outside(floats), *options).build(has_blas)
        if found is not None and any(isinstance(part.code.arg, blas.ProductName) for part in found.parts):
            return found
    return RecipeBuilder(to, scalars_outside(value), *options).build(has_blas)


def _replace_if_immediate(call: UOp) -> UOp | None:
    return None if config.state.waits else replace_kernel(call)


_new_buffers = weakref.WeakSet[UOp]()
"""The buffers that recipes added: tinygrad rewrites the calls of a recipe again."""


def replace_kernel(call: UOp, always: bool = False) -> UOp | None:
    """Return the calls that replace a kernel call, or None to keep it; `always` is passed to `recipe`."""
    args = [u for u in call.src[1:] if not u.is_bound_var]
    if not (
        kernels.cpu_codegen.value and args and all(isinstance(u.device, str) and native.can_run(u.device) for u in args)
    ):
        return None
    bases = [u.base for u in args]
    kernel = exact(call.src[0])
    new = tuple(i for i, u in enumerate(bases) if u in _new_buffers)
    fixed = tuple(i for i, u in enumerate(bases) if u in config.state.fixed)
    found = recipe(kernel, bases[0] in bases[1:], always, new, blas.is_there(args[0].device), fixed)
    if found is None:
        return call.replace(src=(kernel, *call.src[1:])) if kernel is not call.src[0] else None
    of = dict(enumerate(args)) | {slot: UOp.new_buffer(args[0].device, n, dtype) for slot, n, dtype in found.buffers}
    _new_buffers.update(of[slot] for slot, _, _ in found.buffers)
    bound = [u for u in call.src[1:] if u.is_bound_var]
    calls = [p.code.call(*(of[i] for i in p.args), *_used(bound, p.code)) for p in found.parts]
    return UOp(Ops.LINEAR, src=tuple(calls))


def _used(bound: Sequence[UOp], code: UOp) -> list[UOp]:
    """Return the bound variables that a kernel or a product uses."""
    names = {u.expr for u in code.variables()} if bound else set()
    return [u for u in bound if u.src[0].expr in names]


def _run(ctx: Any, call: UOp, ast: UOp) -> list[float | None] | None:
    if not isinstance(ast.arg, blas.ProductName):
        return None
    buffers = [u.buffer.ensure_allocated() for u in private_api.resolve_params(call, ctx.input_uops)]
    blas.run(call, [b.get_buf(b.device).va_addr for b in buffers], ctx.var_vals)
    return []


def _for_products(original: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    def either(call: UOp, *args: Any, **kwargs: Any) -> Any:
        name = call.src[0].arg
        if call.src[0].op is Ops.CUSTOM_FUNCTION and isinstance(name, blas.ProductName):
            return ours(name)
        return original(call, *args, **kwargs)

    return either


def install() -> None:
    """Install the replacement of kernels, unless tinygrad is unpatched or lacks private names."""
    if not (tinygrad_compat.installed and features.fits("backend")):
        return
    kernels = UPat(Ops.CALL, src=(UPat(Ops.SINK),), allow_any_len=True, name="call")
    private_api.schedule.pm_copy_from_store += (
        PatternMatcher([(kernels, _replace_if_immediate)]) + private_api.pm_flatten_linear
    )
    mine = UPat(Ops.CALL, src=(UPat(Ops.CUSTOM_FUNCTION, name="ast"),), allow_any_len=True, name="call")
    private_api.realize.pm_exec = PatternMatcher([(mine, _run)]) + private_api.realize.pm_exec
    for module in (private_api.realize, private_api.jit):
        module.estimate_uop = _for_products(
            module.estimate_uop, lambda name: Estimates(ops=2 * name.product.multiplications)
        )
        module.get_call_outs_ins = _for_products(module.get_call_outs_ins, lambda name: ((0,), (1, 2)))
    private_api.realize.get_call_name = _for_products(private_api.realize.get_call_name, lambda name: name.short)
