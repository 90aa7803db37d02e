"""Skip rewrites and checks of kernels that change nothing.

tinygrad tries to merge each pair of the loops of a kernel: it rewrites the kernel, and keeps the result if it has no
more divisions. An index such as `i * 100 + j` for rows of 99 elements needs divisions after a merge of `i` and `j`.
tinygrad also looks for barriers between threads that share local memory, which kernels of the CPU do not have.

For each write to a buffer, tinygrad searches the whole graph of the written value for the same buffer.  A program with
many stored values therefore takes a time that grows with the square of their number.  Here a buffer that only one write
uses is not searched for: the graph of this write cannot contain it.

For an index that a condition guards, tinygrad substitutes each part of the condition, simplifies the index, and
substitutes back. Most kernels of a program have the same guarded indices, so a result is cached for all of them. Most
substitutions replace a part by a new variable or the variable by the part: one pass over the graph does it.

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
from branded.tinygrad_compat.speed.fast_rewrite import known_results, operands_first, rebuilt


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


_FEW = 8
"""The maximum number of parts that are replaced in one pass."""


def in_one_pass(original: Any) -> Any:
    @functools.wraps(original)
    def substitute(self: UOp, dvars: dict[UOp, UOp], *args: Any, **options: Any) -> UOp:
        if not args and not options and (out := _replace_once(self, dvars)) is not None:
            return out
        result: UOp = original(self, dvars, *args, **options)
        return result

    return substitute


def _replace_once(root: UOp, parts: dict[UOp, UOp]) -> UOp | None:
    """Return a graph with some parts replaced, or None if it has calls, or if a result may have such a part itself."""
    results = {u: v for u, v in parts.items() if u is not v}
    if not results:
        return root
    replaced, changed = tuple(results), set[UOp]()
    if len(results) > _FEW or any(u is v or u in v.backward_slice for v in results.values() for u in replaced):
        return None
    if (order := operands_first(root, results, changed)) is None:
        return None
    for u in order:
        if changed.isdisjoint(u.src):
            results[u] = u
            continue
        results[u] = out = rebuilt(u, tuple([results[x] for x in u.src]))
        if out in replaced:
            return None
        changed.add(u)
    return results[root]


def once_for_all_kernels(original: Any) -> Any:
    @functools.wraps(original)
    def uop_given_valid(valid: UOp, uop: UOp, try_simplex: bool = True) -> UOp:
        key = valid, uop, try_simplex
        if (known := known_results(original)) is None or (out := known.get(key)) is None:
            out = original(*key)
            if known is not None:
                known[key] = out
        return out

    return uop_given_valid


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
    given = once_for_all_kernels(private_api.uop_symbolic.uop_given_valid)
    private_api.uop_symbolic.uop_given_valid = private_api.coalesce.uop_given_valid = given
    setattr(UOp, "substitute", in_one_pass(UOp.substitute))  # noqa: B010  mypy: a method is not assigned
