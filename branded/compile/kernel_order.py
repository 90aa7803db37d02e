"""The order in which the kernels of a program run, chosen so that intermediate values need little memory.

tinygrad first runs the kernels without dependencies. With many chunks, it would run the first kernel of
every chunk before the second kernel of any chunk. This module computes the results one after the other if that takes
less memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any

from tinygrad.uop.ops import Ops, UOp

Writes = Callable[[UOp], Sequence[int]]
"""A function that returns which arguments a call writes to."""


def order_calls(calls: Sequence[UOp], writes: Writes) -> list[int]:
    """Return the order of the calls that takes less memory: the given order, or one result after the other."""
    plain = list(range(len(calls)))
    if any(isinstance(u.device, tuple) or u.op in (Ops.MSELECT, Ops.MSTACK) for call in calls for u in call.src[1:]):
        return plain
    used = [_used(call, writes) for call in calls]
    deep = _depth_first(_depends(used))
    return min((plain, deep), key=lambda order: _most(order, used))


_Used = tuple[list[UOp], set[UOp]]


def _used(call: UOp, writes: Writes) -> _Used:
    """Return the buffers of a call and the buffers that it writes to."""
    args = [u.buf_uop for u in call.src[1:] if not u.is_bound_var]
    return args, {args[i] for i in writes(call) or range(len(args))}


def _depends(used: Sequence[_Used]) -> list[list[int]]:
    """Return, for each call, the calls that must run before it."""
    wrote, readers = dict[UOp, int](), dict[UOp, list[int]]()
    out: list[list[int]] = []
    for i, (args, writes) in enumerate(used):
        before = dict[int, None]()
        for b in args:
            if b in wrote:
                before[wrote[b]] = None
            if b in writes:
                before |= dict.fromkeys(readers.get(b, ()))
        for b in args:
            if b in writes:
                wrote[b], readers[b] = i, []
            else:
                readers.setdefault(b, []).append(i)
        before.pop(i, None)
        out.append(list(before))
    return out


def find_invariant(
    calls: Sequence[UOp], writes: Writes, fixed: Collection[int], may_vary: Callable[[UOp], bool]
) -> list[int]:
    """Return the calls in the step of a loop that compute the same values in every step, in execution order.

    They read the parameters `fixed`, which no step changes, and the results of each other.  `may_vary` returns whether
    a call may do something else in each step although its arguments are the same.
    """
    used = [_used(call, writes) for call in calls]
    writers = Counter(b for _, written in used for b in written)
    known, found = set[UOp](), list[int]()
    for i, (call, (args, written)) in enumerate(zip(calls, used, strict=True)):
        if any(b.op is not Ops.BUFFER or b.is_realized or writers[b] > 1 for b in written):
            continue
        if not all(b in written or b in known or (b.op is Ops.PARAM and b.arg.slot in fixed) for b in args):
            continue
        if not may_vary(call):
            known |= written
            found.append(i)
    return found


def _depth_first(depends: Sequence[Sequence[int]]) -> list[int]:
    done, order = set[int](), list[int]()
    needed = {k for before in depends for k in before}
    for last in [i for i in range(len(depends)) if i not in needed]:
        waiting = [last]
        while waiting:
            i = waiting[-1]
            if i in done or not (missing := [k for k in depends[i] if k not in done]):
                waiting.pop()
                if i not in done:
                    done.add(i)
                    order.append(i)
            else:
                waiting += reversed(missing)
    return order


def _most(order: Sequence[int], used: Sequence[_Used]) -> int:
    """Return the peak memory in bytes of the buffers that only these calls use."""
    last: dict[UOp, int] = {b: k for k, i in enumerate(order) for b in used[i][0] if b.op is Ops.BUFFER}
    ends: dict[int, list[UOp]] = {}
    for b, k in last.items():
        ends.setdefault(k, []).append(b)
    now = most = 0
    live = set[UOp]()
    for k, i in enumerate(order):
        for b in used[i][0]:
            if b in last and b not in live:
                live.add(b)
                now += _bytes(b)
        most = max(most, now)
        now -= sum(map(_bytes, ends.get(k, ())))
    return most


def _bytes(b: Any) -> int:
    return 0 if b.is_realized else int(b.max_numel()) * int(b.dtype.itemsize)
