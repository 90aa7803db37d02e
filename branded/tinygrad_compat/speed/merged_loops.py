"""Merge two loops of a kernel whose indices are sums of loops, without a rewrite of the kernel.

tinygrad merges two loops `i` and `j` of 3 steps by a rewrite of the whole kernel with `k // 3` for `i` and `k % 3` for
`j`.  It then finds out that `k // 3 * 3 + k % 3` is `k`.  A value with ten axes, such as the state of nine qubits,
needs nine such rewrites per kernel.  Where all indices have `j` with a step and `i` with three times this step, the
merged kernel has `k` with the step of `j`, and nothing else changes.
"""

from __future__ import annotations

from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat.fixes.kernels.buffer_layouts import step

_FIRST_LOOP = {Ops.REDUCE: 1, Ops.END: 1}
"""The position of the first loop among the operands of the operations that end loops."""


def merged(u: UOp, outer: UOp, inner: UOp) -> UOp | None:
    """Return a part of a kernel with two loops as one, or None if it uses them for more than such indices."""
    if any(r.src[0].op is not Ops.CONST for r in (outer, inner)):
        return None
    loop = outer.replace(src=(outer.src[0].const_like((outer.vmax + 1) * (inner.vmax + 1)),))
    new, both = dict[UOp, UOp](), {outer: loop, inner: loop}
    for x in u.toposort():
        if x in both or (x is not u and both.keys().isdisjoint(x.ranges)):
            continue
        if (end := _FIRST_LOOP.get(x.op)) is not None:
            loops = dict.fromkeys(both.get(r, r) for r in x.src[end:])
            ends_both = loop in loops and both.keys() <= {*x.src[end:]}
            if any(r.op is not Ops.RANGE for r in loops) or (loop in loops and not ends_both):
                return None
            src = (*(new.get(s, s) for s in x.src[:end]), *loops)
        elif x.op is Ops.INDEX:
            found = [_merged_index(i, outer, inner, loop) for i in x.src[1:]]
            indices = [i for i in found if i is not None]
            if len(indices) < len(found):
                return None
            src = (new.get(x.src[0], x.src[0]), *indices)
        else:
            src = tuple(new.get(s, s) for s in x.src)
        new[x] = x.replace(src=src)
    out = new.get(u, u)
    return out if both.keys().isdisjoint(out.backward_slice) else None


def _merged_index(index: UOp, outer: UOp, inner: UOp, loop: UOp) -> UOp | None:
    """Return an index with both loops as one, or None if that needs a division."""
    at, valid = index.get_idx(), index.get_valid()
    if outer in valid.ranges or inner in valid.ranges:
        return None
    by = step(at, inner)
    if by is None or step(at, outer) != (inner.vmax + 1) * by:
        return None
    if by == 0:
        return index
    terms = [t for t in at.split_uop(Ops.ADD) if inner not in t.ranges]
    if sum(outer in t.ranges for t in terms) != 1:
        return None
    terms = [(loop if by == 1 else loop * by) if outer in t.ranges else t for t in terms]
    out = UOp.usum(*terms) if len(terms) > 1 else terms[0]
    return out if index is at else index.replace(src=(valid, out, index.src[2]))
