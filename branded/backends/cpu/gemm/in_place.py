"""Kernels that copy an array with a few new entries, as kernels that write the new entries into the array itself.

    copy        for j in range(n): y[j] = where(index == j, value, x[j])
    in place    x[index] = value

The step of a loop writes such kernels for `index_update`, `index_add` and `dynamic_update_slice` of a carry.  The
comparison determines the loop `j`, as in `scatter`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from tinygrad.uop.ops import Ops, UOp

from branded.backends.cpu.gemm.cost import NEW, affine_access, elements, is_plain, size, strides
from branded.backends.cpu.gemm.recipe import Replacement, storing_kernel, writes_each_once
from branded.backends.cpu.renderer.kernel_marks import LOOPS
from branded.backends.cpu.renderer.scatter import (
    PLACES,
    Selection,
    conjuncts,
    determined_loops,
    selection,
    split_mask,
    stored_value,
)
from branded.tinygrad_compat.private_api import KernelInfo

ENTRIES = 8
"""The maximum number of entries that one kernel names, as in `x[[i, j]] = y`."""


class _Update(NamedTuple):
    """New values for the elements that fulfil conditions, each with its required value."""

    conditions: list[tuple[UOp, bool]]
    entry: UOp


def in_place(ast: UOp, slot: int) -> list[Replacement] | None:
    """Return the kernels that update the argument in a slot in place, instead of a kernel that writes a copy of it.

    The kernels write argument 0, which has to be the same array.  There are none if the kernel only copies the array.
    None means that the kernel does something else.
    """
    if not isinstance(ast.arg, KernelInfo) or ast.arg.opts_to_apply is not None or len(ast.src) != 1:
        return None
    store, *over = ast.src[0].src if ast.src[0].op is Ops.END else ast.src
    if store.op is not Ops.STORE or len(store.src) != 2 or not all(map(is_plain, over)):
        return None
    store, over = _split_rows(store, over)
    to, value = store.src
    found = affine_access(to, value.dtype)
    if found is None or found.slot or not writes_each_once(found, over):
        return None
    reads = {
        u for u in value.toposort() if u.op is Ops.INDEX and u.src[0].op is Ops.PARAM and u.src[0].arg.slot == slot
    }
    if len(reads) != 1 or (own := affine_access(before := next(iter(reads)), to.dtype)) is None or own[1:] != found[1:]:
        return None
    if value is before:
        return []
    value = value.substitute({before: to})
    if (scatter := _scatter(value, to, over)) is not None:
        return [_kernel(to, scatter)]
    selected = [_selection(update, over) for update in _updates(value, to)]
    return [_kernel(to, x) for x in selected if x is not None] if selected and None not in selected else None


def _split_rows(store: UOp, over: list[UOp]) -> tuple[UOp, list[UOp]]:
    """Return the kernel with two loops instead of one whose quotient is compared: `r // n` is the outer loop."""
    for u in store.toposort():
        if u.op is not Ops.FLOORDIV or u.src[0] not in over or u.src[1].op is not Ops.CONST:
            continue
        (r, divisor), count = u.src, len(over)
        if size(r) % (n := divisor.val) == 0 < n:
            parts = [
                r.replace(src=(r.src[0].const_like(m),), arg=(NEW + count + i, r.arg[-1]))
                for i, m in enumerate((size(r) // n, n))
            ]
            over = [s for x in over for s in (parts if x is r else [x])]
            store = store.substitute({r: parts[0] * n + parts[1]}, walk=True).simplify()
            return _split_rows(store, over)
    return store, over


def with_mask(kernel: UOp, slot: int, mask: UOp, slots: Sequence[int]) -> UOp | None:
    """Return a kernel that computes the mask in a slot itself, or None.

    `mask` is the kernel that stores the mask, and `slots` the slots of its arguments in the new kernel.
    """
    store, *over = mask.src[0].src if mask.src[0].op is Ops.END else mask.src
    if len(mask.src) != 1 or store.op is not Ops.STORE or not all(map(is_plain, over)):
        return None
    to, value = store.src
    stored = strides(to.src[1])
    inner = {
        r: r.replace(arg=(NEW + r.arg[0], *r.arg[1:])) for r in value.toposort() if r.op is Ops.RANGE and r not in over
    }
    params = {
        u: u.replace(arg=replace(u.arg, slot=slots[u.arg.slot]))
        for u in value.toposort()
        if u.op is Ops.PARAM and u.arg.slot >= 0
    }
    new = dict[UOp, UOp]()
    for u in kernel.toposort():
        if u.op is not Ops.INDEX or u.src[0].op is not Ops.PARAM or u.src[0].arg.slot != slot:
            continue
        read = strides(u.src[1])
        if stored is None or read is None or stored.offset != read.offset or len(stored.of) != len(read.of):
            return None
        places = {r: x for r, n in stored.of.items() for x, m in read.of.items() if (m, size(x)) == (n, size(r))}
        if len(places) != len(over) or len({*places.values()}) != len(over):
            return None
        new[u] = value.substitute(inner | params | places, walk=True)
    out: UOp = kernel.substitute(new, walk=True)
    return out


def _operand_of(value: UOp, before: UOp) -> UOp | None:
    """Return the other operand of a sum, a product or a maximum with the value before, or None."""
    if value.op not in (Ops.ADD, Ops.MUL, Ops.MAX):
        return None
    others = [u for u in value.split_uop(value.op) if u is not before]
    is_one = len(others) == 1 and len(list(value.split_uop(value.op))) == 2
    return others[0] if is_one and before not in others[0].toposort() else None


def _scatter(value: UOp, before: UOp, over: Sequence[UOp]) -> Selection | None:
    """Return the entries that a scatter adds to the value before, or None."""
    red = _operand_of(value, before)
    if red is None or red.op is not Ops.REDUCE or red.arg[0] is not value.op or not {*red.ranges} <= {*over}:
        return None
    if (found := selection(red, least=0)) is None or not found.places:
        return None
    entry = before.substitute(found.places).alu(value.op, found.entry)
    return found._replace(entry=entry, loops=(*found.loops, *(r for r in over if r not in red.ranges)))


def _updates(value: UOp, before: UOp) -> Iterator[_Update]:
    """Yield the updates that together are `value`; elsewhere, it is the value before."""
    if value.op is Ops.WHERE:
        condition, yes, no = value.src
        for is_true, entry, other in ((True, yes, no), (False, no, yes)):
            if other is before:
                ways = list(_ways(condition, is_true))
                if len(ways) == 1 or (len(ways) <= ENTRIES and before not in entry.toposort()):
                    for conditions in ways:
                        yield _Update(conditions, entry)
                return
    if (term := _operand_of(value, before)) is not None:
        first = {Ops.ADD: 0, Ops.MUL: 1, Ops.MAX: before.dtype.min}[value.op]
        conditions, entry = split_mask(term, first)
        yield _Update(conditions, before.alu(value.op, entry))


def _ways(u: UOp, is_true: bool) -> Iterator[list[tuple[UOp, bool]]]:
    """Yield the conditions for each way in which `u` is `is_true`; several may hold at the same time."""
    found = list(conjuncts(u, is_true))
    condition, required = found[0]
    if len(found) == 1 and condition.op is (Ops.OR if required else Ops.AND):
        for s in condition.src:
            yield from _ways(s, required)
    else:
        yield found


def _selection(update: _Update, over: Sequence[UOp]) -> Selection | None:
    """Return the update without the loops that its conditions determine, or None if there is none."""
    determined, is_selected = dict[UOp, UOp](), UOp.const(True)
    for condition, is_true in update.conditions:
        found = determined_loops(condition, determined, over) if is_true == (condition.op is Ops.CMPEQ) else None
        otherwise = condition if is_true else condition.logical_not()
        determined |= found.places if found is not None else {}
        is_selected = is_selected & (found.is_valid if found is not None else otherwise)
    if elements(determined) < PLACES:
        return None
    loops = tuple(r for r in over if r not in determined)
    return Selection(update.entry.substitute(determined), is_selected.substitute(determined), determined, loops)


def _kernel(to: UOp, found: Selection) -> Replacement:
    at = to.substitute(found.places)
    now = stored_value(found, at, found.entry.cast(at.dtype))  # a Python number has no dtype of its own
    return storing_kernel(at, now, found.loops, (LOOPS,))
