"""Products that other kernels only add flush denormal numbers, like the products inside of a sum.

A kernel may store a matrix of products because two others read it: one adds its rows, the other its columns.  Many
products of tiny numbers are denormal and then take Intel processors about 150 cycles each.  See `denormals`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, UOp

from branded.backends.cpu.renderer import denormals

LEAST_NORMAL = 2.0**-126
_COMPARISONS = {Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ}
_CONTINUOUS = {Ops.PARAM, Ops.INDEX, Ops.CONST, Ops.CAST, Ops.MUL, Ops.ADD, Ops.MAX, Ops.WHERE, Ops.EXP2}
"""Operations whose results change little if a denormal operand counts as zero."""


def mark(call: UOp) -> UOp:
    """Return the call of a kernel that flushes denormal numbers: `loops` makes an option of this mark."""
    kernel = call.src[0]
    return call.replace(src=(kernel.replace(arg=replace(kernel.arg, dont_use_locals=True)), *call.src[1:]))


def stores_products(call: UOp) -> bool:
    """Return whether a call stores many products of floats, and no denormal number decides about a result."""
    kernel = call.src[0]
    if kernel.op is not Ops.SINK or len(kernel.src) != 1 or call.src[1].max_numel() < denormals.LEAST:
        return False
    lines = kernel.toposort()
    if call.src[1].dtype not in (dtypes.float32, dtypes.float64) or any(u.op is Ops.REDUCE for u in lines):
        return False
    products = [u for u in lines if u.op is Ops.MUL and dtypes.is_float(u.dtype)]
    if all(any(x.op is Ops.CONST for x in u.src) for u in products):
        return False
    return all(map(_is_continuous, lines)) and _zeros_are_factors(list(lines))


def _is_continuous(u: UOp) -> bool:
    if dtypes.is_float(u.dtype):
        return u.op in _CONTINUOUS
    return u.op in {Ops.STORE, *_COMPARISONS} or not any(dtypes.is_float(x.dtype) for x in u.src)


def _zeros_are_factors(lines: Sequence[UOp]) -> bool:
    """Return whether each comparison is with a normal number, or only decides about the other factor of a product.

    Derivatives contain `x * where(x != 0 or y is finite, y, 0)`, which is zero if `x` is.
    """
    users: dict[UOp, list[UOp]] = {}
    for u in lines:
        for x in u.src:
            users.setdefault(x, []).append(u)

    def results(u: UOp) -> Iterator[tuple[UOp, UOp]]:
        for user in users[u]:
            if user.op in (Ops.OR, Ops.AND):
                yield from results(user)
            else:
                yield from ((user, product) for product in users[user])

    def decides_nothing(x: UOp, u: UOp) -> bool:
        return all(
            choice.op is Ops.WHERE and choice.dtype == x.dtype and product.op is Ops.MUL and x in product.src
            for choice, product in results(u)
        )

    for u in lines:
        if u.op not in _COMPARISONS or not dtypes.is_float(u.src[0].dtype):
            continue
        numbers = [x.arg for x in u.src if x.op is Ops.CONST]
        if any(abs(n) >= LEAST_NORMAL for n in numbers):
            continue
        if u.op is not Ops.CMPNE or not numbers or not decides_nothing(u.src[0], u):
            return False
    return True


def only_adds(kernel: UOp, slot: int) -> bool:
    """Return whether a kernel reads an operand only as a term of sums: times factors, and plus something else."""
    if kernel.op is not Ops.SINK:
        return False
    is_sum: dict[UOp, bool] = {}
    """For the values that depend on the operand outside of a reduction: whether they are sums."""
    for u in kernel.toposort():
        found = [x for x in u.src if x in is_sum]
        if u.op is Ops.INDEX and u.src[0].op is Ops.PARAM and u.src[0].arg.slot == slot:
            if found or u.src[1].get_valid().op is not Ops.CONST:
                return False
            is_sum[u] = False
        elif not found or (u.op is Ops.REDUCE and u.arg[0] is Ops.ADD):
            continue
        elif u.op is Ops.STORE:
            if u.src[0] in is_sum or not is_sum[u.src[1]]:
                return False
        elif u.op is Ops.ADD:
            is_other_added = len(found) == 1 and all(x.op is not Ops.CONST for x in u.src)
            is_sum[u] = is_other_added or all(is_sum[x] for x in found)
        elif u.op is Ops.MUL or (u.op is Ops.CAST and dtypes.is_float(u.dtype)):
            is_sum[u] = all(is_sum[x] for x in found)
        else:
            return False
    return True
