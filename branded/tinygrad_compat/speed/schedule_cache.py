"""A disk cache for schedules: the kernels of a graph, which depend only on its structure.

tinygrad keeps them in memory, by the graph with parameters instead of buffers. Here other processes find them too. The
key also covers all options, the versions, and the code of this package. A graph is not stored if it contains anything
other than numbers and tinygrad's own data types, for example a user function.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tinygrad.uop.ops import Ops, UOp

from branded import tinygrad_compat
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.private_api import CallInfo
from branded.tinygrad_compat.speed import program_cache

TABLE = "branded_schedules"
LEAST = 5
"""The minimum number of operations of a stored graph; smaller graphs are scheduled faster than they are loaded."""
_PLAIN = (int, float, str, bytes, bool, type(None))
_TYPES = frozenset(
    {"AddrSpace", "AxisType", "BufferizeOpts", "DType", "InvalidType", "KernelInfo", "Ops", "Opt", "OptOps", "ParamArg"}
)
"""The types of tinygrad whose text contains their full state."""
_FREE = 1 << 40
"""The first slot number that no buffer uses."""
_NOT_OF_IT = frozenset({"CACHELEVEL", "CAPTURING", "DEBUG", "NO_MEMORY_PLANNER", "PARALLEL"})
"""The options that do not affect the schedule."""


def is_plain(x: Any) -> bool:
    """Return whether the key of a graph describes this argument completely, also in another process."""
    if isinstance(x, tuple | frozenset):
        return all(map(is_plain, x))
    if isinstance(x, CallInfo):
        return x.aux is None
    if isinstance(x, str):
        return type(x) is str  # a subclass, such as the name of a loop or host callback, has hidden state
    return isinstance(x, _PLAIN) or (type(x).__name__ in _TYPES and type(x).__module__.startswith("tinygrad."))


def _graph_key(graph: UOp) -> str | None:
    """Return the key of a graph, or None if it is not stored."""
    if not program_cache.is_kept():
        return None
    us = graph.toposort()
    if len(us) < LEAST or not all(u.arg is None or is_plain(u.arg) for u in us):
        return None
    options = sorted((k, v) for k, v in private_api.options().items() if k not in _NOT_OF_IT)
    text = f"{graph.key.hex()} {options!r} {program_cache.made_by()}"
    return hashlib.sha256(text.encode()).hexdigest()


def _keep(name: str, linear: UOp) -> None:
    us = linear.toposort()
    if all(u.arg is None or is_plain(u.arg) for u in us):
        # placeholders for buffers that each run makes, but with the slots of existing buffers
        places = [u for u in us if u.op is Ops.BUFFER and u.addrspace is private_api.AddrSpace.GLOBAL]
        free = {u: u.replace(arg=replace(u.arg, slot=_FREE + i)) for i, u in enumerate(places)}
        private_api.helpers.diskcache_put(TABLE, name, linear.substitute(free, walk=True))
        program_cache.count()


def install() -> None:
    if not tinygrad_compat.installed:
        return
    kernels: Callable[[UOp], UOp] = private_api.schedule.get_kernel_graph
    ordered: Callable[[UOp], UOp] = private_api.schedule.create_schedule
    names: dict[UOp, str] = {}

    @functools.wraps(kernels)
    def get_kernel_graph(sink: UOp) -> UOp:
        if (name := _graph_key(sink)) is None:
            return kernels(sink)
        if (linear := program_cache.load_graph(TABLE, name)) is not None and linear.op is Ops.LINEAR:
            return linear
        names[made := kernels(sink)] = name
        return made

    @functools.wraps(ordered)
    def create_schedule(graph: UOp) -> UOp:
        if graph.op is Ops.LINEAR:
            return graph
        name, linear = names.pop(graph, None), ordered(graph)
        if name is not None:
            _keep(name, linear)
        return linear

    private_api.schedule.get_kernel_graph, private_api.schedule.create_schedule = get_kernel_graph, create_schedule
