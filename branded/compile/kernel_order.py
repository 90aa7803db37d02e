"""The order in which the kernels of a program run, chosen so that intermediate values need little memory.

It also finds what the use of a value by other kernels permits: an update in place, or to flush denormal numbers.

tinygrad first runs the kernels without dependencies. With many chunks, it would run the first kernel of
every chunk before the second kernel of any chunk. This module computes the results one after the other if that takes
less memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, UOp

from branded.backends.cpu.gemm.in_place import in_place, with_mask
from branded.backends.cpu.renderer import denormal_terms
from branded.backends.cpu.renderer.loops import cpu_codegen
from branded.backends.cpu.runtime import native
from branded.backends.cpu.runtime.host_calls import HostName

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


def update_in_place(
    calls: Sequence[UOp], writes: Writes, pairs: Sequence[tuple[UOp, UOp]]
) -> tuple[list[UOp], set[int]]:
    """Return the calls with the first buffer of a pair updated in place, and the indices of these pairs.

    The second buffer of a pair is then not used: before the calls run, the first one holds its values.  The kernels
    that read it run before the update.
    """
    now, done = list(calls), set[int]()
    used = [_used(call, writes) for call in now] if pairs else []
    for i, (to, before) in enumerate(pairs):
        first = next((k for k, (_, written) in enumerate(used) if to in written), None)
        if first is None or before not in used[first][0]:
            continue
        later = _after(first, _depends(used))
        if any(to in used[k][0] for k in range(first)) or any(before in used[k][0] for k in later - {first}):
            continue
        if (updates := _updates(_with_masks(first, now, used), before)) is None:
            continue
        order = [k for k in range(len(now)) if k not in later] + sorted(later)
        now = [new.substitute({before: to}, walk=True) for k in order for new in (updates if k == first else [now[k]])]
        used = [_used(call, writes) for call in now]
        done.add(i)
    return _without_unread(now, writes) if done else now, done


def join_calls(calls: Sequence[UOp], writes: Writes) -> tuple[UOp, ...]:
    """Return the calls that compute each intermediate value once, and sort a value once for its order as well."""
    return _join_hosts(_join_kernels(calls, writes), writes)


def _join_kernels(calls: Sequence[UOp], writes: Writes) -> tuple[UOp, ...]:
    """Return the calls without kernels that compute an intermediate value that another buffer holds already.

    Each host call and each loop has its arguments computed to buffers of its own.
    """
    kernels = [call.src[0] for call in calls if call.src[0].op is Ops.SINK]
    if len(set(kernels)) == len(kernels):
        return tuple(calls)
    used, out = [_used(call, writes) for call in calls], list[UOp]()
    writers = Counter(b for _, written in used for b in written)
    same, found = dict[UOp, UOp](), dict[Any, int]()
    for k, (call, (args, written)) in enumerate(zip(calls, used, strict=True)):
        new = call.substitute(same, walk=True) if not same.keys().isdisjoint(args) else call
        out.append(new)
        result = call.src[1] if len(call.src) > 1 else call
        is_value = result.op is Ops.BUFFER and not result.is_realized and writers[result] == 1
        if not is_value or written != {result} or args.count(result) > 1 or call.src[0].op is not Ops.SINK:
            continue
        key = (call.src[0], new.src[2:], result.dtype, result.max_numel(), result.device)
        at = found.setdefault(key, k)
        between = [b for _, later in used[at + 1 : k] for b in later]
        if at < k and not any(u.buf_uop in between for u in new.src[2:] if not u.is_bound_var):
            same[result] = calls[at].src[1]
            out.pop()
        else:
            found[key] = k
    return tuple(out)


def _join_hosts(calls: Sequence[UOp], writes: Writes) -> tuple[UOp, ...]:
    """Return the calls with one call in place of two host callbacks that compute two results of the same work."""
    out = list(calls)
    found: dict[Any, int] = {}
    for k, call in enumerate(calls):
        name = call.src[0].arg
        if not isinstance(name, HostName) or name.host.part is None or 0 in name.results[0].shape:
            continue
        at = found.setdefault((name.host.part[0], name.args, call.src[2:]), k)
        earlier = calls[at]
        if at == k or out[at] is not earlier or earlier.src[0].arg.host.part == name.host.part:
            continue
        between = [_used(c, writes) for c in calls[at + 1 : k]]
        if any(call.src[1] in args or not written.isdisjoint(call.src[2:]) for args, written in between):
            continue
        pair = sorted((earlier, call), key=lambda c: int(c.src[0].arg.host.part[1]))
        joint = HostName(name.host.part[0], [c.src[0].arg.results[0] for c in pair], name.args)
        out[at] = call.src[0].replace(arg=joint).call(*(c.src[1] for c in pair), *call.src[2:])
        out[k] = out[at]
    return tuple(dict.fromkeys(out))


def flush_terms(calls: Sequence[UOp], writes: Writes) -> tuple[UOp, ...]:
    """Return the calls of a program, with a mark on the kernels whose products the other kernels only add.

    Only intermediate values count, not the parameters of the program, which others read too.
    """
    if not cpu_codegen.value or not all(_is_run_by_c(u) for call in calls for u in call.src[1:]):
        return tuple(calls)
    used, out = [_used(call, writes) for call in calls], list(calls)
    writers = Counter(b for _, written in used for b in written)
    for at, (args, written) in enumerate(used):
        result = next((b for b in args[:1] if written == {b}), None)
        if result is None or result.op is not Ops.BUFFER or result.is_realized or writers[result] > 1:
            continue
        reads = [(k, i) for k, (others, _) in enumerate(used) for i, b in enumerate(others) if b is result]
        are_terms = (denormal_terms.only_adds(calls[k].src[0], i) for k, i in reads if (k, i) != (at, 0))
        if denormal_terms.stores_products(calls[at]) and all(are_terms):
            out[at] = denormal_terms.mark(calls[at])
    return tuple(out)


def _is_run_by_c(u: UOp) -> bool:
    return u.is_bound_var or (isinstance(u.device, str) and native.can_run(u.device))


def _with_masks(at: int, calls: Sequence[UOp], used: Sequence[_Used]) -> UOp:
    """Return a call that computes itself the masks that another kernel stores for it."""
    call = calls[at]
    for u in used[at][0][1:]:
        makers = [k for k, (_, written) in enumerate(used) if u in written]
        if u.op is not Ops.BUFFER or u.dtype != dtypes.bool or len(makers) != 1 or call.src[0].op is not Ops.SINK:
            continue
        maker = calls[makers[0]]
        args, more = ([x for x in c.src[1:] if not x.is_bound_var] for c in (call, maker))
        if maker.src[0].op is not Ops.SINK or u not in args or more.count(u) != 1 or more[0] is not u:
            continue
        if any(not written.isdisjoint(x.buf_uop for x in more[1:]) for _, written in used[makers[0] + 1 :]):
            continue  # an operand of the mask has another value later
        every = list(dict.fromkeys([*args, *more[1:]]))
        kernel = with_mask(call.src[0], args.index(u), maker.src[0], [0, *(every.index(x) for x in more[1:])])
        if kernel is not None:
            bound = dict.fromkeys(x for c in (call, maker) for x in c.src[1:] if x.is_bound_var)
            call = kernel.call(*every, *bound)
    return call


def _without_unread(calls: Sequence[UOp], writes: Writes) -> list[UOp]:
    """Return the calls without the kernels whose results are buffers that no call reads."""
    used = [_used(call, writes) for call in calls]
    read = {b for args, written in used for b in args if b not in written or args.count(b) > 1}
    return [
        call
        for call, (_, written) in zip(calls, used, strict=True)
        if call.src[0].op is not Ops.SINK or any(b.op is not Ops.BUFFER or b.is_realized or b in read for b in written)
    ]


def _updates(call: UOp, before: UOp) -> list[UOp] | None:
    """Return the calls that update a buffer in place, instead of a call that writes a copy of it, or None."""
    args, bound = [u for u in call.src[1:] if not u.is_bound_var], [u for u in call.src[1:] if u.is_bound_var]
    if call.src[0].op is not Ops.SINK or args.count(before) != 1 or args[0] in args[1:]:
        return None
    if not all(map(_is_run_by_c, args)):
        return None
    parts = in_place(call.src[0], args.index(before))
    return None if parts is None else [p.code.call(*(args[i] for i in p.args), *bound) for p in parts]


def _after(first: int, depends: Sequence[Sequence[int]]) -> set[int]:
    """Return a call and the calls that depend on it."""
    out = {first}
    for i, before in enumerate(depends):
        if not out.isdisjoint(before):
            out.add(i)
    return out


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
