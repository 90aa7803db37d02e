"""Donated arguments (`donate_argnums`): a result may be written into the memory of an argument."""

from __future__ import annotations

import functools
from sys import getrefcount
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import Ops, UOp

from branded.compile.linear_program import Linear
from branded.compile.output_pool import PooledBuffer, Result, value_in_memory
from branded.core.boundary import Donated
from branded.graph.uops import base_of
from branded.tinygrad_compat.uops import KNOWN


def may_be_one(linear: Linear, out: int, arg: int) -> bool:
    """Return whether the buffer `out` of a program may share memory with its buffer `arg`.

    They may if the last kernel that reads `arg` runs before the first kernel that writes `out`. They also may if one
    kernel does both, and reads each entry of `arg` only to write the same entry of `out`.
    """
    uses = [_slots(call) for call in linear.linear.src]
    writes = [i for i, slots in enumerate(uses) if out in slots]
    reads = [i for i, slots in enumerate(uses) if arg in slots]
    if not reads or not writes or reads[-1] < writes[0]:
        return bool(writes)
    if reads[-1] > writes[0] or uses[writes[0]].count(out) != 1 or uses[writes[0]].count(arg) != 1:
        return False
    call = linear.linear.src[writes[0]]
    args = [u for u in call.src[1:] if not u.is_bound_var]
    if any(u.op is not Ops.PARAM for u, slot in zip(args, _slots(call), strict=True) if slot in (out, arg)):
        return False
    call_slots = uses[writes[0]]
    return _is_entry_by_entry(linear.kernels[writes[0]], call_slots.index(out), call_slots.index(arg))


def _slots(call: UOp) -> list[int]:
    """Return the parameter slot of each argument of a call, or -1."""
    bufs = [u.buf_uop for u in call.src[1:] if not u.is_bound_var]
    return [b.arg.slot if b.op is Ops.PARAM else -1 for b in bufs]


def _is_entry_by_entry(kernel: UOp, out: int, arg: int) -> bool:
    graph = kernel.toposort()
    stores = [u for u in graph if u.op is Ops.STORE]
    if kernel.op is not Ops.SINK or len(stores) != 1 or stores[0].src[0].op is not Ops.INDEX:
        return False
    to = stores[0].src[0]
    users = {slot: [u for u in graph if any(_is_param(s, slot) for s in u.src)] for slot in (out, arg)}
    same = all(u.op is Ops.INDEX and u.src[1:] == to.src[1:] for u in users[arg])
    return same and users[out] == [to]


def _is_param(u: UOp, slot: int) -> bool:
    return u.op is Ops.PARAM and u.arg.slot == slot


def donate(t: Tensor) -> UOp:
    """Mark a tensor as donated, so that later uses raise an error, and return its former UOp."""
    u = t.uop
    t.uop = _donated_placeholder(u.shape, u.dtype, u.device)
    return u


@functools.lru_cache(maxsize=256)
def _donated_placeholder(shape: Any, dtype: Any, device: Any) -> UOp:
    return Donated().of(shape, dtype, device)


def take_memory(t: Tensor, result: Result) -> PooledBuffer | None:
    """Return the memory of a donated tensor for a result, or None if something else refers to it."""
    u = donate(t)
    is_reshaped, ref = u.op is Ops.RESHAPE, u.__dict__.get(PooledBuffer.KEY)
    remembered = ref() if ref is not None else None
    if _counts(u) != _sole_reference(is_reshaped, remembered is not None) or (
        is_reshaped and u.src[0].op is Ops.RESHAPE
    ):
        return None
    if u.shape != result.shape:
        return PooledBuffer(base_of(u).reshape(result.shape))
    return remembered or PooledBuffer(u)


def _counts(u: UOp) -> tuple[int, int, int]:
    base, buffer = base_of(u), u.__dict__[KNOWN].buffer
    value_in_memory(base)  # the facts that are cached about it refer to the buffer
    return getrefcount(u), getrefcount(base), getrefcount(buffer)


@functools.cache
def _sole_reference(is_reshaped: bool, is_remembered: bool) -> tuple[int, int, int]:
    """Return the reference counts of a value, its base and its buffer if only one variable refers to them."""
    u: UOp = UOp.new_buffer("CPU", 4, dtypes.float32).reshape((2, 2) if is_reshaped else (4,))
    base_of(u).buffer.ensure_allocated()  # type: ignore[union-attr]
    value_in_memory(u)
    remembered = PooledBuffer(u) if is_remembered else None
    counts = _counts(u)
    del remembered
    return counts
