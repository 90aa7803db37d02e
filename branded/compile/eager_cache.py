"""A cache of compiled programs for values that are realized without `jit`.

`vmap(f)(x)` builds the same graph in every call, except for its buffers. tinygrad schedules this graph again in every
call, which takes longer than small kernels. Here the second realization of a graph compiles it to a program that reads
its buffers as parameters, as `jit` does, and later realizations run that program.

Only graphs of plain operations on buffers of one device that C runs are cached. tinygrad realizes graphs with writes,
host callbacks, copies or symbolic shapes, and graphs that need much working memory.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from tinygrad import Tensor
from tinygrad.helpers import DEBUG
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.backends.cpu.autotune.config import Tune
from branded.compile.computed_graphs import replace_graphs
from branded.compile.executable import _can_fail, _Compiled
from branded.compile.initial_values import write_initial_values
from branded.compile.output_pool import part_of, value_in_memory
from branded.core.analysis.aliasing import is_no_copy
from branded.graph.uops import tensor
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.private_api import all_int

PROGRAMS = 128
"""The maximum number of graphs that are remembered; the least recently used are forgotten."""
NODES = 4000
"""The size of the largest cached graph, in operations."""
MEMORY = 1 << 22
"""The most working memory of a cached program, and the size of its largest result, in bytes."""
_PLAIN = {
    *(GroupOp.ALU | GroupOp.Movement),
    *(Ops.CAST, Ops.BITCAST, Ops.CONST, Ops.REDUCE, Ops.CONTIGUOUS, Ops.CONTIGUOUS_BACKWARD, Ops.DETACH, Ops.STACK),
    *(Ops.FUNCTION, Ops.GETTUPLE, Ops.NOOP),
}
_Key = tuple[Any, ...]
_MISSING: Any = object()


_graphs: OrderedDict[_Key | int, _Compiled | None] = OrderedDict()
"""The programs of graphs that were realized twice, or None for a graph that has none.

A graph that was realized once is listed by the hash of its key, because the key keeps the loops in the graph alive.
"""


def run_cached(values: Sequence[Tensor]) -> bool:
    """Compute values by a cached program, and return whether there is one."""
    if private_api.capturing or DEBUG.value >= 2:
        return False
    roots = list(dict.fromkeys(t.uop.base for t in values))
    if any(u.is_virtual or _is_view(u) for u in roots):
        return False
    if (found := _structure(roots)) is None:
        return write_initial_values(values) and run_cached(values)
    key, buffers = found
    if (program := _graphs.get(key, _MISSING)) is _MISSING:
        is_new = _graphs.pop(hash(key), key) is key
        program = None if is_new else _compile_whole(roots, buffers)
        _graphs[hash(key) if is_new else key] = program
        if len(_graphs) > PROGRAMS:
            _graphs.popitem(last=False)
    else:
        _graphs.move_to_end(key)
    if program is None or None in (leaves := [value_in_memory(u) for u in buffers]):
        return False
    results = program.run(program.bind(leaves, {})[0], leaves, {})
    replace_graphs(values, roots, [y.uop for y in results])
    return True


def _is_view(u: UOp) -> bool:
    """Return whether a value is a buffer, or becomes a view of one without a kernel, perhaps of an initial value."""
    if u.op is not Ops.CONTIGUOUS:
        return u.op is Ops.BUFFER
    return u.src[0].base.op in (Ops.AFTER, Ops.COPY) or part_of(u.src[0]) is not None


def _structure(roots: Sequence[UOp]) -> tuple[_Key, list[UOp]] | None:
    """Return a description of a graph in which buffers are numbered, and the buffers; None if it is not cached."""
    graph = list(UOp.sink(*roots).toposort(enter_calls=False))[:-1]
    if len(graph) > NODES:
        return None
    index: dict[UOp, int] = {}
    rows: list[Any] = [tuple(x) if isinstance(x, list) else x for x in private_api.options().values()]
    buffers: list[UOp] = []
    for u in graph:
        if u.op is Ops.BUFFER:
            if (value := value_in_memory(u)) is None or not value.address:
                return None
            rows.append((len(buffers), *value.type))
            buffers.append(u)
        elif u.op is Ops.FUNCTION and u.src[0].op_in_backward_slice_with_self(Ops.BUFFER):
            return None  # the key would keep the memory alive
        elif u.op in _PLAIN and (u.op is not Ops.CONTIGUOUS_BACKWARD or u.arg is None):
            rows.append((u.op, u.dtype, u.arg, u.tag, *[index.get(s, s) for s in u.src]))
        else:
            return None
        index[u] = len(index)
    return (*rows, *(index[u] for u in roots)), buffers


def _compile_whole(roots: Sequence[UOp], buffers: Sequence[UOp]) -> _Compiled | None:
    """Return the program of a graph with its buffers as parameters, or None if C cannot run it as a whole."""
    if _can_fail(roots) or not all(all_int(u.shape) and u.max_numel() * u.dtype.itemsize <= MEMORY for u in roots):
        return None
    if any(0 in u.shape for u in (*roots, *buffers)):
        return None
    if any(map(is_no_copy, roots)):  # views that `_is_view` does not see through
        return None
    program = _Compiled(buffers, [tensor(u) for u in roots], (), Tune(None, {}))
    return program if program.plan is not None and program.scratch.nbytes <= MEMORY else None
