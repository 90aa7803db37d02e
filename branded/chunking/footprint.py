"""The memory that a graph needs during its computation, from its schedule: nothing is compiled or run.

tinygrad's scheduler decides which values are stored, and its planner decides which buffers share memory.  Both are
called as for a run.  A loop adds the memory of one step, a host callback its memory in addition to its results.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import NamedTuple

from tinygrad.helpers import Context
from tinygrad.uop.ops import Ops, UOp

from branded.backends.cpu.runtime import host_calls
from branded.callbacks.host import Host
from branded.compile.compiled_loop import LoopName, laid_out
from branded.compile.linear_program import schedule, writes
from branded.control_flow.loop_primitive import Loop
from branded.core.boundary import batch_values
from branded.graph.tags import untag
from branded.graph.uops import nbytes, replace_ops
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.activation import in_engine


class Footprint(NamedTuple):
    """The memory of a program, in bytes."""

    taken: int
    """The peak without the memory that existed before: results, intermediate values and work space."""
    there: int
    """The memory that the program reads but does not create: arguments and captured values."""
    results: int
    work: int
    """The work space of loops and host callbacks at the peak."""
    live: tuple[UOp, ...]
    """The buffers in use at the peak, the largest first."""

    @property
    def peak(self) -> int:
        return self.there + self.taken

    @property
    def between(self) -> int:
        return self.taken - self.results - self.work


def footprint(values: Sequence[UOp], *, is_replayed: bool = False) -> Footprint:
    """Compute the memory needed to evaluate these values.

    Values that vary over open brands are evaluated for all examples.  A buffer without contents represents an
    argument.  With `is_replayed`, the result is the memory of a call of the compiled program.
    """
    roots = [x.uop for x in batch_values(values)]
    roots = replace_ops(roots, untag)
    roots = [u for u in dict.fromkeys(roots) if u.device is not None and 0 not in u.shape]
    wanted = [u for u in roots if not u.is_virtual and not u.base.is_realized and u.base.op is not Ops.BUFFER]
    results = sum(int(u.max_numel()) * u.dtype.itemsize for u in wanted)
    if not wanted:
        return Footprint(0, sum(map(nbytes, {u.base for u in roots if not u.is_virtual})), 0, 0, ())
    plain, planned = _replay_calls(wanted) if is_replayed else _schedule_calls(wanted)
    outputs = {b for call in plain for i, b in enumerate(_call_arguments(call)) if i in writes(call)}
    there = {b for call in plain for b in _call_arguments(call) if b not in outputs or b.is_realized}
    taken, work = _most(planned, there)
    return Footprint(taken, sum(map(nbytes, there)), results, work, _live(plain, there))


@in_engine
def _schedule_calls(wanted: Sequence[UOp]) -> tuple[Sequence[UOp], Sequence[UOp]]:
    """Return the calls of tinygrad's schedule, before and after memory planning."""
    big, _ = private_api.transform_to_call(UOp.sink(*wanted))
    with Context(CAPTURING=0, NO_MEMORY_PLANNER=1):  # type: ignore[no-untyped-call]
        linear, _ = private_api.create_linear_with_vars(big)
    held = {b for b in big.src[1:] if b.op is Ops.BUFFER}
    return linear.src, private_api.memory_plan_rewrite(linear, held).src


@in_engine
def _replay_calls(wanted: Sequence[UOp]) -> tuple[Sequence[UOp], Sequence[UOp]]:
    """Return the calls of the compiled program, before and after memory planning."""
    places = [UOp.new_buffer(u.device, int(u.max_numel()), u.dtype).reshape(u.shape) for u in wanted]
    arguments = [u for u in UOp.sink(*wanted).toposort() if u.op is Ops.BUFFER and not u.is_realized]
    params = [*(u.base for u in places), *arguments]
    linear = schedule(list(zip(places, wanted, strict=True)), params, is_compiled=False)
    return linear.unplanned.src, linear.linear.src


def _call_arguments(call: UOp) -> list[UOp]:
    """Return the buffers of a call in the order of its arguments."""
    return [u.buf_uop for u in call.src[1:] if not u.is_bound_var]


def _most(calls: Sequence[UOp], there: set[UOp]) -> tuple[int, int]:
    """Return the peak bytes and the work space at the peak; a buffer counts from its first use on."""
    seen, now, most = set(there), 0, (0, 0)
    for call in calls:
        for b in _call_arguments(call):
            if b not in seen:
                seen.add(b)
                now += nbytes(b)
        work = _work(call)
        most = max(most, (now + work, work))
    return max(most, (now, 0))


def _live(calls: Sequence[UOp], there: set[UOp]) -> tuple[UOp, ...]:
    """Return the program's own buffers that are in use at the peak, the largest first."""
    used = [dict.fromkeys(b for b in _call_arguments(call) if b not in there) for call in calls]
    last = {b: i for i, bs in enumerate(used) for b in bs}
    now: dict[UOp, None] = {}
    size, most, live = 0, -1, tuple[UOp, ...]()
    for i, bs in enumerate(used):
        size += sum(nbytes(b) for b in bs if b not in now)
        now |= bs
        if size > most:
            most, live = size, tuple(now)
        for b in [b for b in bs if last[b] == i]:
            del now[b]
            size -= nbytes(b)
    return tuple(sorted(live, key=nbytes, reverse=True))


_of_loops: weakref.WeakKeyDictionary[Loop, int] = weakref.WeakKeyDictionary()


def _work(call: UOp) -> int:
    name = call.src[0].arg
    if isinstance(name, LoopName):
        return _of_loop(name.loop)
    if isinstance(name, host_calls.HostName) and isinstance(host := name.host, Host) and host.by_c is None:
        return round(host.space * sum(x.nbytes for x in name.results))
    return 0


def _of_loop(loop: Loop) -> int:
    """Return the memory of a step; its inner loops run one after the other, so only the largest counts."""
    if (memory := _of_loops.get(loop)) is None:
        buffers, parts = laid_out(loop)
        inner = max((_work(call) for part in parts for call in part.linear.src), default=0)
        memory = _of_loops[loop] = sum(map(nbytes, buffers)) + inner
    return memory
