"""A cache of compiled programs for values that are realized without `jit`.

`vmap(f)(x)` builds the same graph in every call, except for its buffers. tinygrad schedules this graph again in every
call, which takes longer than small kernels. Here the second realization of a graph compiles it to a program that reads
its buffers as parameters, as `jit` does, and later realizations run that program.

Only graphs of plain operations on buffers of one device that C runs are cached. tinygrad realizes graphs with writes,
host callbacks, copies or symbolic shapes, and graphs that need much working memory.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import Tensor
from tinygrad.helpers import DEBUG
from tinygrad.uop.ops import Ops, UOp

from branded.compile.computed_graphs import replace_graphs
from branded.compile.initial_values import filled_memory, write_initial_values
from branded.compile.output_pool import Known, part_of, value_in_memory
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.context_stack import ContextStack
from branded.tinygrad_compat.gates import our_code
from branded.tinygrad_compat.speed.fast_shape_dtype import sizes_of
from branded.tinygrad_compat.speed.movement_cache import recorded_call_of
from branded.tinygrad_compat.tinygrad_lock import LOCK
from branded.tinygrad_compat.uops import is_realized

PROGRAMS = 128
"""The maximum number of graphs that are remembered; the least recently used are forgotten."""
NODES = 4000
"""The size of the largest cached graph, in operations."""
_Key = tuple[Any, ...]
_MISSING: Any = object()


_graphs: OrderedDict[_Key | int, Any] = OrderedDict()
"""The programs of graphs that were realized twice, or None for a graph that has none.

A graph that was realized once is listed by the hash of its key, because the key keeps the loops in the graph alive.
"""


compile_graph: Callable[[Sequence[UOp], Sequence[UOp]], Any] | None = None
"""Compiles a graph with its buffers as parameters, or returns None; set by `executable`, which uses this module."""


watchers: ContextStack[Callable[[Sequence[Tensor]], None]] = ContextStack("branded_watchers")
"""Functions that receive the values of each realize in their block before it; there, no cached program runs.

tinygrad's `capturing` receives the kernels of each realize, after it was scheduled.
"""


def run_cached(values: Sequence[Tensor], *, compiles: bool = True) -> bool:
    """Compute values by a cached program, and return whether all of them are in memory now.

    With `compiles`, a graph that was realized before is compiled.
    """
    for watch in watchers.get():
        watch(values)
    if _is_off():
        return False
    values = [t for t in values if not is_realized(t.uop.base)]
    roots = list(dict.fromkeys(t.uop.base for t in values))
    if not roots or any(map(_is_view, roots)):
        return not roots
    if (found := _structure(roots)) is None:
        return write_initial_values(values) and run_cached(values, compiles=compiles)
    if not compiles and found[0] not in _graphs:
        return False
    if (results := _run(roots, *found)) is None:
        return False
    replace_graphs(values, roots, [y.uop for y in results])
    return True


def compute(t: Tensor) -> UOp | None:
    """Return the value of a tensor in the memory of a CPU, computed by a cached program, or None if there is none.

    The tensor stays lazy, as when tinygrad reads it.
    """
    if _is_off() or _is_view(t.uop.base):
        return None
    with LOCK:
        if (found := _structure([t.uop])) is not None:
            if not all(value.device.startswith("CPU") for value in found[2]):
                return None
            return None if (results := _run([t.uop], *found)) is None else results[0].uop
        with our_code.during(None):  # marks the memory, so that the values that contain it are still ours
            is_written = write_initial_values([t])
        return compute(t) if is_written else None


def _is_off() -> bool:
    """Return whether someone wants to see each kernel, which tinygrad's engine shows and a cached program does not."""
    return bool(watchers.any_open() or private_api.capturing or DEBUG.value >= 2)


def _run(roots: Sequence[UOp], key: _Key, buffers: Sequence[UOp], leaves: Sequence[Known]) -> list[Tensor] | None:
    """Return the values of graphs, computed by the cached program of their structure, or None if there is none."""
    if (program := _graphs.get(key, _MISSING)) is _MISSING:
        is_new = _graphs.pop(hash(key), key) is key
        program = None if is_new or compile_graph is None else compile_graph(roots, buffers)
        _graphs[hash(key) if is_new else key] = program
        if len(_graphs) > PROGRAMS:
            _graphs.popitem(last=False)
    else:
        _graphs.move_to_end(key)
    if program is None:
        return None
    results: list[Tensor] = program.run(program.bind(leaves, {})[0], leaves, {})
    return results


def _is_view(u: UOp) -> bool:
    """Return whether a value is a buffer, or becomes a view of one without a kernel, perhaps of an initial value."""
    if u.op is not Ops.CONTIGUOUS:
        return u.op is Ops.BUFFER
    return u.src[0].base.op in (Ops.AFTER, Ops.COPY) or part_of(u.src[0]) is not None


def _structure(roots: Sequence[UOp]) -> tuple[_Key, list[UOp], list[Known]] | None:
    """Return a description of a graph without its buffers, and the buffers; None if it is not cached.

    The description lists the nodes from the roots down, each before its operands.  A node that was listed before is the
    complement of its number.  Constants are described by their values: their nodes may not live until the next call.
    The result of a recorded method is described by the recording, without the nodes that it consists of.
    """
    index: dict[UOp, int] = {}
    key: list[Any] = [private_api.option_values(), len(roots)]
    buffers: list[UOp] = []
    values: list[Known] = []
    stack, index_of = [*reversed(roots)], index.get
    while stack:
        u = stack.pop()
        if (known := index_of(u)) is not None:
            key.append(known)
            continue
        op, operands = u.op, u.src
        if op is Ops.CONST:
            key += (u.dtype, u.arg, u.tag)
            continue
        if op is Ops.STACK and (sizes := sizes_of(u)) is not None:
            key.append(sizes)
            continue
        index[u] = ~len(index)
        if op is Ops.BUFFER or op is Ops.AFTER:
            memory = u if op is Ops.BUFFER else None if u in roots else filled_memory(u)
            if memory is None or (value := value_in_memory(memory)) is None or not value.address:
                return None
            key.append(value.type)
            buffers.append(u)
            values.append(value)
            continue
        if (recorded := recorded_call_of(u)) is not None:
            key.append(recorded[0])
            stack += recorded[1]
            continue
        if op is Ops.FUNCTION:
            if operands[0].op_in_backward_slice_with_self(Ops.BUFFER):
                return None  # the key would keep the memory alive
            key.append(operands[0])
            operands = operands[1:]
        elif op is Ops.CONTIGUOUS_BACKWARD and u.arg is not None:
            return None
        key += (op, u.dtype, u.arg, u.tag, len(operands))
        stack += operands
        if len(index) > NODES:
            return None
    return tuple(key), buffers, values
