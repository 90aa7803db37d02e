"""One kernel for calls that differ only in the part of a buffer that they read or write.

A program that uses the slices of a buffer one by one, such as the weights of each layer, has a kernel for each slice:

    *(out+i) = *(weights+(i*9+3))     a call with the buffer `weights`
    *(out+i) = *(weights+(i*9+5))     another one

Here the number is not part of the kernel, but of the argument: both calls run `*(out+i) = *(weights+(i*9))`, with the
buffers `weights[3:]` and `weights[5:]`.  Most of the time of a first call is spent on compiling kernels.

Vector loads need an alignment, so a kernel that may load neighbors together starts only at multiples of `ALIGNMENT`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat.private_api import AddrSpace

ALIGNMENT = 256
"""The alignment in bytes of a part of a buffer from which a kernel may load vectors."""
Part = tuple[int, int]
"""The first element and the number of elements of a part of a buffer."""


@dataclass(frozen=True)
class _Access:
    """An index into a buffer: the sum of a first element and of loops, each times its step."""

    index: UOp
    first: int
    steps: tuple[int, ...]


def share_kernels(calls: UOp) -> tuple[UOp, list[dict[int, Part]]]:
    """Return the calls with shared kernels, and, for each call, the parts of its arguments, by their index.

    The arguments are still whole buffers: see `pass_parts`.
    """
    kernels = list(dict.fromkeys(call.src[0] for call in calls.src if _is_shareable(call)))
    moved = {k: _from_first_element(k) for k in kernels}
    owners: dict[UOp, list[UOp]] = {}
    for k, (kernel, _) in moved.items():
        owners.setdefault(kernel, []).append(k)
    shared = {k: moved[k] for ks in owners.values() if len(ks) > 1 for k in ks}
    if not shared:
        return calls, [{} for _ in calls.src]
    new = [c.replace(src=(shared[c.src[0]][0], *c.src[1:])) if c.src[0] in shared else c for c in calls.src]
    parts = [shared[c.src[0]][1] if c.src[0] in shared else {} for c in calls.src]
    return calls.replace(src=tuple(new)), parts


def pass_parts(calls: UOp, parts: Sequence[dict[int, Part]]) -> UOp:
    """Return the calls with parts of their arguments instead of whole buffers."""
    if not any(parts):
        return calls
    new = []
    for call, part_of in zip(calls.src, parts, strict=True):
        args = [_part(u, *part_of[i]) if i in part_of else u for i, u in enumerate(call.src[1:])]
        new.append(call.replace(src=(call.src[0], *args)) if part_of else call)
    return calls.replace(src=tuple(new))


def _part(u: UOp, begin: int, size: int) -> UOp:
    """Return a part of a buffer, or of a part of memory that holds several buffers."""
    if u.op is Ops.BITCAST:
        ratio = u.dtype.itemsize // u.src[0].dtype.itemsize
        return _part(u.src[0], begin * ratio, size * ratio).bitcast(u.dtype)
    if u.op is Ops.SHRINK:
        return _part(u.src[0], int(u.marg[0][0]) + begin, size)
    return u.shrink(((begin, begin + size),))


def _is_shareable(call: UOp) -> bool:
    args = [u for u in call.src[1:] if not u.is_bound_var]
    are_flat = (u.op in (Ops.BUFFER, Ops.PARAM) and len(u.shape) == 1 and str(u.device).startswith("CPU") for u in args)
    return call.src[0].op is Ops.SINK and all(are_flat)


def _from_first_element(kernel: UOp) -> tuple[UOp, dict[int, Part]]:
    """Return a kernel whose indices start at 0 where possible, and the parts of the arguments that it accesses.

    A buffer that is used in another way than by such indices stays whole.
    """
    graph = kernel.toposort()
    accesses: dict[UOp, list[UOp]] = {u: [] for u in graph if _is_buffer(u)}
    used_otherwise = set[UOp]()
    for u in graph:
        if u.op is Ops.INDEX and len(u.src) == 2 and u.src[0] in accesses:
            accesses[u.src[0]].append(u)
            used_otherwise.update(s for s in u.src[1:] if s in accesses)
        else:
            used_otherwise.update(s for s in u.src if s in accesses)
    new, parts = dict[UOp, UOp](), dict[int, Part]()
    for buffer, indices in accesses.items():
        found = [_access(u) for u in indices]
        known = [a for a in found if a is not None]
        if buffer in used_otherwise or not known or len(known) < len(found):
            continue
        begin = _begin(known, buffer.dtype.itemsize)
        end = min(max(int(a.index.get_idx().vmax) for a in known) + 1, int(buffer.max_numel()))
        if begin == 0 and end == buffer.max_numel():
            continue
        parts[buffer.arg.slot] = begin, end - begin
        of_part = UOp.param(buffer.arg.slot, buffer.dtype, (end - begin,), buffer.device)
        for u, a in zip(indices, known, strict=True):
            new[u] = u.replace(src=(of_part, _minus(a, begin)))
    return (kernel.substitute(new, walk=True), parts) if parts else (kernel, parts)


def _is_buffer(u: UOp) -> bool:
    """Return whether this is a flat buffer that has no other properties than those of `UOp.param`."""
    is_global = u.op is Ops.PARAM and u.addrspace is AddrSpace.GLOBAL and len(u.shape) == 1
    return is_global and u is UOp.param(u.arg.slot, u.dtype, u.shape, u.device)


def _access(u: UOp) -> _Access | None:
    """Return the index of an access, or None if it is not a sum of loops with steps."""
    first, steps = 0, list[int]()
    if (index := u.src[1].get_idx()).is_invalid:  # a read outside of all entries, whose value is not used
        return None
    for term in index.split_uop(Ops.ADD):
        loop, by = (term.src[0], term.src[1]) if term.op is Ops.MUL else (term, None)
        if term.op is Ops.CONST:
            first += int(term.val)
        elif loop.op is Ops.RANGE and (by is None or by.op is Ops.CONST):
            steps.append(1 if by is None else int(by.val))
        else:
            return None
    return _Access(u.src[1], first, tuple(steps))


def _begin(accesses: Sequence[_Access], itemsize: int) -> int:
    """Return the first element of the part of a buffer that is accessed."""
    if any(step < 0 for a in accesses for step in a.steps):
        return 0
    begin = min(a.first for a in accesses)
    between = math.gcd(*(a.first - begin for a in accesses), *(step for a in accesses for step in a.steps))
    if between == 1:  # accesses neighbors, which a kernel may load together
        begin -= begin % (ALIGNMENT // itemsize)
    return max(begin, 0)


def _minus(access: _Access, begin: int) -> UOp:
    """Return the index from the element `begin` on, under the same condition if there is one."""
    if begin == 0:
        return access.index
    index = access.index.get_idx()
    terms = [t for t in index.split_uop(Ops.ADD) if t.op is not Ops.CONST]
    if access.first != begin or not terms:
        terms.append(index.const_like(access.first - begin))
    moved = terms[0].usum(*terms[1:])
    if index is access.index:
        return moved
    condition, _, invalid = access.index.src
    return access.index.replace(src=(condition, moved, invalid))
