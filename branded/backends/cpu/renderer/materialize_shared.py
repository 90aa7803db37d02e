"""Materialize values that several kernels would recompute.

tinygrad fuses everything that a sum or a result depends on into one kernel, up to values in memory.  Random samples,
some hundred operations, are therefore repeated in every kernel of a gradient that reads them.  Each such kernel takes
longer to build and compile.  Here a small value with many operations that several kernels read goes to memory.  So do
a function whose slices several kernels read, see `sliced_functions`, a sum that becomes a small part of a larger value,
and a value in a chain of more than `LONGEST` operations.  `bufferize_policy` decides which values that tinygrad stores
remain stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinygrad import dtypes
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.backends.cpu.renderer.bufferize_policy import FEW
from branded.backends.cpu.renderer.loops import cpu_codegen
from branded.backends.cpu.renderer.sliced_functions import whole_functions
from branded.tinygrad_compat.private_api import all_int

KERNELS, MANY = 3, 40
"""The minimum number of reading kernels and of operations for which a value is computed once."""
LONGEST = 500
"""The maximum length of a chain in one kernel; the time of rewriting and of clang grows faster than the length."""
_SINE = 32
"""The number of operations that a sine counts as: a kernel has at most `remainders.MOST_CALLS` of them in a chain."""
_SAMPLE = 100
"""The number of operations that a random sample counts as."""
PARTS = 8
"""A padded value of at least so many times the size of a sum computes the sum again for each of its elements."""
_MOVES = {Ops.RESHAPE, Ops.PERMUTE, Ops.EXPAND}
_ENDS = {Ops.REDUCE, Ops.BUFFER, Ops.PARAM, Ops.AFTER, Ops.CONTIGUOUS, Ops.COPY, Ops.CALL, Ops.CUSTOM_FUNCTION}
"""Operations that end a kernel, or belong to no kernel."""


def materialize_shared_values(values: Sequence[UOp]) -> list[UOp]:
    """Return the values, rewritten so that the parts that several kernels read are materialized."""
    values = list(values)
    if not cpu_codegen.value or not all(str(u.device).startswith("CPU") for u in values):
        return values
    order = _order(values)
    shared, readers = _shared_values(values, order)
    if wholes := whole_functions(order, readers, KERNELS):
        values = _replace(values, order, lambda u, _: wholes.get(u))
        order = _order(values)
        shared, _ = _shared_values(values, order)
    if not (shared := shared | _long_chains(order) | _padded_sums(order)):
        return values
    return _replace(values, order, lambda u, v: v.contiguous() if u in shared else None)


def _replace(values: Sequence[UOp], order: Sequence[UOp], new: Callable[[UOp, UOp], UOp | None]) -> list[UOp]:
    """Return the values with some operations replaced; `new` gets an operation, and the same one of new operands."""
    replaced = dict[UOp, UOp]()
    for u in order:
        src = tuple(replaced.get(s, s) for s in u.src)
        v = u if src == u.src else u.replace(src=src)
        if (w := new(u, v)) is not None:
            v = w
        if v is not u:
            replaced[u] = v
    return [replaced.get(u, u) for u in values]


def _order(values: Sequence[UOp]) -> Sequence[UOp]:
    """Return the graph of the values in topological order."""
    return list(UOp.sink(*values).toposort(enter_calls=False))[:-1]


def _shared_values(values: Sequence[UOp], order: Sequence[UOp]) -> tuple[set[UOp], dict[UOp, set[UOp]]]:
    """Return the values to materialize, and the kernels that read each value.

    There are up to `KERNELS` kernels for a value, each identified by its last node.
    """
    readers: dict[UOp, set[UOp]] = {u: set() for u in order}
    for u in values:
        readers[u].add(u)
    shared = set[UOp]()
    for u in reversed(order):
        kernels = readers[u]
        if u.op in _ENDS:
            kernels = {u}
        elif len(kernels) >= KERNELS and _is_small(u) and _is_long(u):
            shared.add(u)
            kernels = {u}
        for s in u.src:
            if len(readers_of_operand := readers.get(s, kernels)) < KERNELS:  # the body of a function is not among them
                readers_of_operand |= kernels
    return shared, readers


def _long_chains(order: Sequence[UOp]) -> set[UOp]:
    """Return the values at which a chain of operations is cut into kernels of at most `LONGEST` operations."""
    depths, bodies, cuts = dict[UOp, int](), dict[UOp, int](), set[UOp]()
    for u in order:
        if u.op in _ENDS:
            continue
        depth = max((depths.get(s, 0) for s in u.src), default=0) + _weight(u)
        if u.op is Ops.FUNCTION:
            if (body := u.src[0]) not in bodies:
                bodies[body] = sum(map(_weight, body.toposort()))
            depth += bodies[body]
        if depth >= LONGEST and _is_storable(u):
            cuts.add(u)
            depth = 0
        depths[u] = depth
    return cuts


def _padded_sums(order: Sequence[UOp]) -> set[UOp]:
    """Return the sums that are better computed before they are padded.

    A value that is much larger than a sum computes it for each of its elements.  The gradient of a value whose slices
    are used one by one is a sum of such values.  A value that is padded along merged axes divides its index by the
    length of an axis to find the element of the sum, so that no kernel for products applies.
    """
    has_sum, sums = dict[UOp, bool](), set[UOp]()
    for u in order:
        has_sum[u] = u.op is Ops.REDUCE or (u.op not in _ENDS and any(has_sum.get(s, False) for s in u.src))
        if u.op is not Ops.PAD or not has_sum[u] or not all_int((*u.shape, *u.src[0].shape)):
            continue
        part, is_merged = u.src[0], False
        while part.op in _MOVES:
            is_merged |= part.op is Ops.RESHAPE and _long_axes(part) < _long_axes(part.src[0])
            part = part.src[0]
        is_worth_a_kernel = is_merged and part.max_numel() >= FEW
        if _may_be_stored(part) and (is_worth_a_kernel or part.max_numel() * PARTS <= u.max_numel()):
            sums.add(part)
    return sums


def _long_axes(u: UOp) -> int:
    """Return the number of axes that are longer than 1."""
    return sum(not isinstance(n, int) or n != 1 for n in u.shape)


def _weight(u: UOp) -> int:
    return _SINE if u.op is Ops.SIN else int(u.op in GroupOp.ALU)


def _is_small(u: UOp) -> bool:
    return _is_storable(u) and 1 <= u.max_numel() < FEW


def _is_storable(u: UOp) -> bool:
    return u.op in GroupOp.ALU and _may_be_stored(u) and all_int(u.shape)


def _may_be_stored(u: UOp) -> bool:
    return u.dtype not in dtypes.weaks and isinstance(u.device, str)


def _is_long(u: UOp) -> bool:
    stack, seen, operations = [u], {u}, 0
    while stack and operations < MANY:
        x = stack.pop()
        operations += _SAMPLE if x.op is Ops.THREEFRY else int(x.op in GroupOp.ALU)
        for s in x.src:
            if s.op not in _ENDS and s not in seen:
                seen.add(s)
                stack.append(s)
    return operations >= MANY
