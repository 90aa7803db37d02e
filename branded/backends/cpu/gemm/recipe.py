"""The calls that replace a kernel: BLAS, values that are computed first, and scatters into the output."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from tinygrad.dtype import DType
from tinygrad.uop.ops import AxisType, Ops, UOp

from branded.backends.cpu.gemm import blas, cost
from branded.backends.cpu.gemm.cost import (
    LAUNCH,
    NEW,
    SHARE,
    SMALL,
    Access,
    affine_access,
    array_for_sum,
    elements,
    new_array,
    plan,
    size,
    transfer_cost,
)
from branded.backends.cpu.gemm.factors import is_sum_of_products
from branded.backends.cpu.gemm.padding import Padded, padding_of
from branded.backends.cpu.gemm.precompute import recomputed_values, values_of_scatter
from branded.backends.cpu.renderer import bufferize_policy
from branded.backends.cpu.renderer.columns import memory_order, merge_loops, some_rows, terms_order
from branded.backends.cpu.renderer.kernel_marks import LOOPS
from branded.backends.cpu.renderer.scatter import Selection, first_value, selection, stored_value
from branded.backends.cpu.renderer.segments import segments
from branded.backends.cpu.runtime import cores
from branded.tinygrad_compat.private_api import KernelInfo, Opt


class Replacement(NamedTuple):
    """A call that replaces a kernel, and its arguments: slots of the kernel's arguments and of new buffers."""

    code: UOp
    args: tuple[int, ...]


class Recipe(NamedTuple):
    parts: tuple[Replacement, ...]
    buffers: tuple[tuple[int, int, DType], ...]
    """The slots, sizes and dtypes of new buffers."""


def _first_value(red: UOp) -> UOp:
    out: UOp = red.const_like(first_value(red))
    return out


class RecipeBuilder:
    """A recipe under construction, for a kernel that stores `value` at `to` over some loops."""

    def __init__(
        self,
        to: UOp,
        value: UOp,
        over: Sequence[UOp],
        is_read: bool,
        always: bool,
        new: tuple[int, ...],
        fixed: tuple[int, ...],
    ) -> None:
        self.always, self.fixed = always, fixed
        self.to, self.value, self.over = to, value, over
        params = [u for u in UOp.sink(to, value).toposort() if u.op is Ops.PARAM and u.arg.slot >= 0]
        self.sizes = {u.arg.slot: int(u.max_numel()) for u in params}
        # each precomputed value is another argument of the kernel, in addition to the variables
        self.room = max(cores.SIZES[-1] - 3 - len(self.sizes), 0)
        self.device = params[0].arg.device
        used = {u.src[0]: bufferize_policy.parts(u) for u in UOp.sink(to, value).toposort() if u.op is Ops.INDEX}
        sizes = {u.arg.slot: int(u.max_numel()) * u.arg.dtype.itemsize // used.get(u, 1) for u in params}
        self.limit = SMALL + sum(-n if slot in new else n // SHARE for slot, n in sizes.items())
        """The bytes left for new buffers."""
        self.parts: list[Replacement] = []
        self.buffers: list[tuple[int, int, DType]] = []
        self.new: dict[UOp, UOp] = {}
        self.readers: dict[UOp, list[UOp]] = {}
        self.reds = [u for u in value.toposort() if u.op is Ops.REDUCE]
        for u in value.toposort():
            for s in u.src:
                self.readers.setdefault(s, []).append(u)
        found = affine_access(to, value.dtype)
        self.whole = found if found is not None and not is_read and writes_each_once(found, over) else None
        """The kernel's output if sums may go there directly: each element is stored once and never read."""

    def build(self, has_blas: bool) -> Recipe | None:
        op, direct = self._direct_selections()
        reds = [u for u in self.reds if u not in direct]
        for i, u in enumerate([f for red in reds if is_sum_of_products(red) for f in cost.factors_of(red.src[0])]):
            if (found := padding_of(u)) is not None and len(self.new) < self.room:
                self._pad(u, found, NEW + 3 * len(reds) + i)
        for i, red in enumerate(reds):
            if len(self.new) >= self.room or self._reduce_selected(red, NEW + 3 * i):
                continue
            if is_sum_of_products(red) and has_blas:
                self._multiply_by_blas(red, NEW + 3 * i)
        others = self._store_sum_first, self._precompute_slow_values, self._reduce_stored_terms, self._reduce_columns
        for compute_first in others if not direct and not self.always else ():
            if not self.parts and not self.new:
                compute_first()
        if not self.parts and not self.new and not direct:
            return self._split_concatenation()
        rest = [u for u in self.value.split_uop(op) if u not in direct] if direct else [self.value]
        value = functools.reduce(lambda x, y: x.alu(op, y), rest) if rest else _first_value(direct[0])
        if self.new.get(value) is not self.to:
            self.parts.append(storing_kernel(self.to, self._with_new(value), sorted(self.over, key=lambda r: r.arg)))
        for red in direct:
            self._combine_selected(red, selection(self._with_new(red)), self.to)
        return Recipe(tuple(self.parts), tuple(self.buffers))

    def _direct_selections(self) -> tuple[Ops, list[UOp]]:
        """Return the reductions of selected entries that go directly to the output, and the operation that adds them.

        The output first gets the other terms of the sum, or the other factors, or the other values of the maximum.
        """
        op = self.value.arg[0] if self.value.op is Ops.REDUCE else self.value.op
        if self.whole is None or op not in (Ops.ADD, Ops.MUL, Ops.MAX):
            return op, []
        terms = list(self.value.split_uop(op))
        direct = [u for u in terms if u.op is Ops.REDUCE and u.arg[0] is op and self._is_direct_selection(u, terms)]
        if direct:
            self.whole = None
        return op, direct

    def _is_direct_selection(self, red: UOp, terms: Sequence[UOp]) -> bool:
        if red.dtype != self.value.dtype or not self._is_over_all(red):
            return False
        if sum(red in u.backward_slice_with_self for u in terms) > 1:
            return False
        return (found := selection(red)) is not None and bool(found.places)

    def _with_new(self, u: UOp) -> UOp:
        out: UOp = u.substitute(self.new)
        return out

    def _multiply_by_blas(self, red: UOp, slot: int) -> None:
        """Compute a sum of products by BLAS if that is faster."""
        is_whole = self._is_over_all(red) and red.dtype == self.value.dtype
        result, by = self._with_scale(red)
        is_whole &= result is self.value or not self._reads_written_index()
        now, later = self._with_new(red), LAUNCH + transfer_cost(red.ranges)
        after = 0.0 if result is self.value else later
        options = slot, self.limit, self.over, self.always, self.fixed
        found = plan(now, by, self.whole, after, *options) if is_whole and self.whole else None
        if found is None:
            found = plan(now, by, None, later, *options)
        if found is None:
            return
        out = found.out
        for x in (out, found.a, found.b):
            if x.slot >= NEW and x.slot not in self.sizes:
                self._add_buffer(x, red.dtype)
        for operand, x in found.before:
            self._store(x, operand.value)
        self.parts.append(Replacement(blas.call(found.product, found.variable), (out.slot, found.a.slot, found.b.slot)))
        self.new[result] = self.to if out is self.whole else self._read(out, red.dtype)
        if out is self.whole:
            self.whole = None

    def _pad(self, u: UOp, found: Padded, slot: int) -> None:
        """Store the padded array whose windows a factor reads."""
        if (at := self._store_new(cost.array_in_order(slot, list(found.place)), found.value)) is not None:
            self.new[u] = at.substitute(found.place)

    def _reduce_selected(self, red: UOp, slot: int) -> bool:
        """Compute a reduction that selects entries by an index from these entries alone; return whether it is one."""
        if (found := selection(self._with_new(red))) is None:
            return False
        if not found.places:
            self.new[red] = found.entry
            return True
        self._add_buffer(x := new_array(slot, red.ranges), red.dtype)
        to = self._store(x, _first_value(red))
        self._combine_selected(red, found, to)
        self.new[red] = to
        return True

    def _combine_selected(self, red: UOp, found: Selection | None, to: UOp) -> None:
        """Add the selected entries of a reduction to an array."""
        assert found is not None
        entry = found.entry
        for u in values_of_scatter(entry, found.loops)[: self.room]:
            if (at := self._store_new(new_array(3 * NEW + len(self.buffers), u.ranges), u)) is not None:
                entry = entry.substitute({u: at})
        at = to.substitute(found.places)
        now = stored_value(found, at, at.alu(red.arg[0], entry))
        self.parts.append(storing_kernel(at, now, found.loops, (LOOPS,)))

    def _store_sum_first(self) -> None:
        """Store a sum of plain loops first if the operations on it are slow within those loops."""
        if len(self.reds) != 1 or not is_sum_of_products(red := self.reds[0]) or not self._is_over_all(red):
            return
        if (x := array_for_sum(red, self.value, self.to, NEW)) is not None and (
            at := self._store_new(x, red)
        ) is not None:
            self.new[red] = at

    def _precompute_slow_values(self) -> None:
        """Precompute slow values that each turn of a loop would recompute."""
        for i, u in enumerate(recomputed_values(self.value, self.over, self.limit)[: self.room]):
            if (at := self._store_new(new_array(NEW + i, u.ranges), u)) is not None:
                self.new[u] = at

    def _reduce_stored_terms(self) -> None:
        """Store the terms of a reduction if they are gathered, and reduce them in groups of rows."""
        for red in filter(self._is_over_all, self.reds):
            if (order := terms_order(red, self.over)) is None:
                continue
            if (at := self._store_new(cost.array_in_order(2 * NEW, order), red.src[0])) is not None:
                now = red.replace(src=(at, *red.src[1:]))
                self._reduce_in_groups(now)
                self.new[red] = self.new.pop(now, now)
                return

    def _reduce_columns(self) -> None:
        """Compute column sums in groups of rows."""
        others = {red for red in self.reds if not self._is_over_all(red)}
        reds = [red for red in self.reds if others.isdisjoint(red.backward_slice_with_self)]
        for i, red in enumerate(reds[: self.room]):
            if (order := memory_order(red, self.over)) is None:
                self._reduce_in_groups(red)
            elif (at := self._store_new(cost.array_in_order(NEW + i, order), red)) is not None:
                self.new[red] = at

    def _reduce_in_groups(self, red: UOp) -> None:
        now, over, merged = merge_loops(red, self.over)
        before = len(self.parts)
        while (found := some_rows(now, over)) is not None:
            x = cost.array_in_order(NEW + len(self.parts), found.loops)
            if elements(x.of) * now.dtype.itemsize > self.limit:
                break
            self._add_buffer(x, now.dtype)
            at = self._read(x, now.dtype)
            for part in found.parts:
                self.parts.append(storing_kernel(at.substitute(part.places), part.value, part.loops))
            now = now.replace(src=(at, *found.left)) if found.left else at
        if len(self.parts) > before:
            self.new[red] = now.substitute(merged)

    def _split_concatenation(self) -> Recipe | None:
        """Return a kernel for each piece of a concatenation if that is faster."""
        found = [] if self.whole is None or self.always else segments(self.to, self.value, self.over)
        parts = [storing_kernel(x.to, x.value, sorted(x.over, key=lambda r: r.arg)) for x in found]
        return Recipe(tuple(parts), ()) if parts else None

    def _with_scale(self, red: UOp) -> tuple[UOp, float]:
        """Return the value for BLAS to compute: the sum, or the sum times a constant if that is its only use."""
        readers = self.readers.get(red, [])
        if red is not self.value and len(readers) == 1 and readers[0].op is Ops.MUL:
            (other,) = (s for s in readers[0].src if s is not red)
            if other.op is Ops.CONST:
                return readers[0], float(other.val)
        return red, 1.0

    def _reads_written_index(self) -> bool:
        """Return whether an input is read at the index being written; a donated input may share the output's memory."""
        return any(
            u.op is Ops.INDEX and u is not self.to and u.src[1:] == self.to.src[1:] for u in self.value.toposort()
        )

    def _add_buffer(self, x: Access, dtype: DType) -> None:
        self.sizes[x.slot] = elements(x.of)
        self.limit -= self.sizes[x.slot] * dtype.itemsize
        self.buffers.append((x.slot, self.sizes[x.slot], dtype))

    def _is_over_all(self, red: UOp) -> bool:
        """Return whether a reduction has a value for each element that the kernel stores."""
        return frozenset(red.ranges) == frozenset(self.over)

    def _store_new(self, x: Access, value: UOp) -> UOp | None:
        """Add a buffer for a new array and store a value there first, or return None if the buffer is too large."""
        if elements(x.of) * value.dtype.itemsize > self.limit:
            return None
        self._add_buffer(x, value.dtype)
        return self._store(x, value)

    def _store(self, x: Access, value: UOp) -> UOp:
        """Compute a value into an array first, and return it as read from there."""
        at = self._read(x, value.dtype)
        self.parts.append(storing_kernel(at, value, sorted(x.of, key=x.of.__getitem__, reverse=True)))
        return at

    def _read(self, x: Access, dtype: DType) -> UOp:
        index = UOp.const(x.place.offset)
        for r, n in x.of.items():
            index = index + r * n
        out: UOp = UOp.param(x.slot, dtype, (self.sizes[x.slot],), self.device).index(index)
        return out


def writes_each_once(x: Access, over: Sequence[UOp]) -> bool:
    """Return whether each step of the loops writes to a different index."""
    reach = 1
    for r, n in sorted(x.of.items(), key=lambda item: item[1]):
        if n < reach:
            return False
        reach = n * (size(r) - 1) + reach
    return x.of.keys() == {*over}


def storing_kernel(to: UOp, value: UOp, over: Iterable[UOp], options: tuple[Opt, ...] | None = None) -> Replacement:
    """Return a kernel with these loops, outermost first, and its own parameters."""
    loops = list(over)
    store = to.store(value)
    body = (store.end(*loops) if loops else store).sink(arg=KernelInfo(opts_to_apply=options))
    found = body.toposort()
    new = {r: r.replace(arg=(i, AxisType.WEAK)) for i, r in enumerate(loops)}
    inner = [u for u in found if u.op is Ops.RANGE and u not in new]
    new |= {r: r.replace(arg=(len(loops) + i, r.arg[-1])) for i, r in enumerate(inner)}
    params = [u for u in found if u.op is Ops.PARAM and u.arg.slot >= 0]
    slots = list(dict.fromkeys([to.src[0].arg.slot, *(u.arg.slot for u in params)]))
    new |= {u: u.replace(arg=replace(u.arg, slot=slots.index(u.arg.slot))) for u in params}
    return Replacement(body.substitute(new, walk=True), tuple(slots))
