"""Skip rewrites and checks of kernels that change nothing.

tinygrad tries to merge each pair of the loops of a kernel: it rewrites the kernel, and keeps the result if it has no
more divisions. An index such as `i * 100 + j` for rows of 99 elements needs divisions after a merge of `i` and `j`.
tinygrad also looks for barriers between threads that share local memory, which kernels of the CPU do not have.

For each write to a buffer, tinygrad searches the whole graph of the written value for the same buffer.  A program with
many stored values therefore takes a time that grows with the square of their number.  Here a buffer that only one write
uses is not searched for: the graph of this write cannot contain it.

It also checks every graph that it schedules, and every kernel before and after it is lowered. That takes 3 % of the
time to compile a program, and finds mistakes in tinygrad or in this package, not in the program. The tests of this
package keep the check on: it runs if the environment variable SPEC is set, or `Context(SPEC=2)` asks for more checks.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

from tinygrad.uop.ops import GroupOp, Ops, PatternMatcher, UOp

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


class _ScheduledGraph(threading.local):
    """The graph that this thread splits into kernels, and its buffers that only one write uses, once they are known."""

    sink: UOp | None = None
    written_once: Collection[UOp] | None = None


_graph = _ScheduledGraph()


def find_written_once(sink: UOp) -> set[UOp]:
    """Return the buffers of a graph that are written by one operation, and read only after it."""
    base_of, writes, others = dict[UOp, UOp](), Counter[UOp](), set[UOp]()
    for u in sink.toposort():
        if u.op in (Ops.BUFFER, Ops.PARAM):
            base_of[u] = u
        elif u.op in GroupOp.Movement or u.op is Ops.BITCAST:
            if u.src[0] in base_of:
                base_of[u] = base_of[u.src[0]]
        else:
            for i, s in enumerate(u.src):
                if (base := base_of.get(s)) is None:
                    continue
                if i == 0 and u.op is Ops.STORE:
                    writes[base] += 1
                elif i > 0 or u.op is not Ops.AFTER:
                    others.add(base)
    return {base for base, n in writes.items() if n == 1} - others


def _is_written_once(base: UOp) -> bool:
    if _graph.sink is None:
        return False
    if _graph.written_once is None:
        _graph.written_once = find_written_once(_graph.sink)
    return base in _graph.written_once


def _noting_the_graph(original: Callable[[UOp], UOp]) -> Callable[[UOp], UOp]:
    @functools.wraps(original)
    def get_kernel_graph(sink: UOp) -> UOp:
        before = _graph.sink, _graph.written_once
        _graph.sink, _graph.written_once = sink, None
        try:
            return original(sink)
        finally:
            _graph.sink, _graph.written_once = before

    return get_kernel_graph


def _fix_store_hazard(target: UOp, src: UOp) -> UOp | None:
    if _is_written_once(target.base):
        return None
    out: UOp | None = private_api.fix_store_hazard(target, src)
    return out


def _realize_store_after_src(ctx: Any, dest: UOp, src: UOp) -> None:
    if not _is_written_once(dest.base):
        private_api.realize_store_after_src(ctx, dest, src)


def _with_functions(rules: Any, ours: dict[Any, Any]) -> Any:
    return PatternMatcher([(pattern, ours.get(f, f)) for pattern, f in rules.patterns])


def install() -> None:
    hazards = {private_api.fix_store_hazard: _fix_store_hazard}
    private_api.rangeify.earliest_rewrites = _with_functions(private_api.rangeify.earliest_rewrites, hazards)
    realized = {private_api.realize_store_after_src: _realize_store_after_src}
    rules = private_api.indexing.pm_generate_realize_map
    private_api.indexing.pm_generate_realize_map = _with_functions(rules, realized)
    private_api.schedule.get_kernel_graph = _noting_the_graph(private_api.schedule.get_kernel_graph)
    verify = without_needless_checks(private_api.spec.type_verify)
    private_api.spec.type_verify = private_api.codegen.type_verify = private_api.schedule.type_verify = verify
    private_api.simplify.graph_rewrite = without_needless_merges(private_api.simplify.graph_rewrite)
    private_api.codegen.graph_rewrite = without_needless_barriers(private_api.codegen.graph_rewrite)
