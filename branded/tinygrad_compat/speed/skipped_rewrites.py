"""Skip rewrites and checks of kernels that change nothing.

tinygrad tries to merge each pair of the loops of a kernel: it rewrites the kernel, and keeps the result if it has no
more divisions. An index such as `i * 100 + j` for rows of 99 elements needs divisions after a merge of `i` and `j`.
tinygrad also looks for barriers between threads that share local memory, which kernels of the CPU do not have.

It also checks every graph that it schedules, and every kernel before and after it is lowered. That takes 3 % of the
time to compile a program, and finds mistakes in tinygrad or in this package, not in the program. The tests of this
package keep the check on: it runs if the environment variable SPEC is set, or `Context(SPEC=2)` asks for more checks.
"""

from __future__ import annotations

import functools
import os
from typing import Any

from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.fixes.kernels.buffer_layouts import step
from branded.tinygrad_compat.private_api import AddrSpace


def adds_divisions(u: UOp, outer: UOp, inner: UOp) -> bool:
    """Return whether a part of a kernel without divisions has some after a merge of two of its loops."""
    nodes = u.backward_slice
    if any(r.src[0].op is not Ops.CONST or r.vmax < 1 for r in (outer, inner)):
        return False
    if any(x.op in (Ops.FLOORDIV, Ops.FLOORMOD) for x in nodes):
        return False
    return any(not _merges(index, outer, inner) for x in nodes if x.op is Ops.INDEX for index in x.src[1:])


def _merges(index: UOp, outer: UOp, inner: UOp) -> bool:
    """Return whether an index may be one of the merged loop, without a division."""
    if index.get_valid().op is not Ops.CONST or (by := step(index, inner)) is None:
        return True
    return step(index, outer) in (None, (inner.vmax + 1) * by)


def without_needless_merges(original: Any) -> Any:
    @functools.wraps(original)
    def graph_rewrite(sink: UOp, pm: Any, ctx: Any = None, **options: Any) -> UOp:
        if options.get("name", "").startswith("check_merge_") and adds_divisions(sink, *ctx):
            return sink
        out: UOp = original(sink, pm, ctx, **options)
        return out

    return graph_rewrite


def without_needless_barriers(original: Any) -> Any:
    @functools.wraps(original)
    def graph_rewrite(sink: UOp, pm: Any, *args: Any, **options: Any) -> UOp:
        if options.get("name") == "add implicit barriers" and not _has_local_memory(sink):
            return sink
        out: UOp = original(sink, pm, *args, **options)
        return out

    return graph_rewrite


def _has_local_memory(sink: UOp) -> bool:
    return any(u.op is Ops.BUFFER and u.addrspace is AddrSpace.LOCAL for u in sink.toposort())


def without_needless_checks(original: Any) -> Any:
    @functools.wraps(original)
    def type_verify(ast: Any, check_spec: Any, enter_calls: bool = True) -> None:
        if private_api.SPEC.value != 1 or "SPEC" in os.environ:
            original(ast, check_spec, enter_calls)

    return type_verify


def install() -> None:
    verify = without_needless_checks(private_api.spec.type_verify)
    private_api.spec.type_verify = private_api.codegen.type_verify = private_api.schedule.type_verify = verify
    private_api.simplify.graph_rewrite = without_needless_merges(private_api.simplify.graph_rewrite)
    private_api.codegen.graph_rewrite = without_needless_barriers(private_api.codegen.graph_rewrite)
