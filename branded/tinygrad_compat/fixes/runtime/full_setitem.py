"""A fix for writes to a whole tensor: they change the tensor that a reshape is made of, and copy the new value.

A write to a part of a tensor changes each tensor whose graph contains the written node. tinygrad writes to the first
operand of the part that is a buffer or a reshape of a buffer. If the part begins with a reshape, the graphs of other
tensors do not contain that node.
After `x = Tensor([5.0]).realize()`, `x[0] = 7` does not change `x`, because `x[0]` is a reshape of `x`. Neither does
`x[::2] = 1` for a realized `x` of 6 elements: `x[::2]` is a part of `x.reshape(3, 2)`. The fix takes the lowest of
these nodes that is the value of a tensor.

If the view is `x` itself, Python's `x[:] += v` first adds in place and then assigns to `x[:]`. tinygrad adds again at
the assignment: after `y = x.clone(); y[:] += 1`, `y.sum().item()` is correct, but `y.numpy()` is `x + 2`.

A value that is not computed yet has no memory to write to. After `y = x + 1; y.assign(v)`, tinygrad makes `y` a view of
the memory of `v`, so that it changes when `v` does, or it leaves the write in the graph and cannot read `y`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tinygrad import Tensor
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.uops import living_tensors

_EMBED = "Embed View Assign"


def _written_node(u: UOp) -> UOp:
    """Return the lowest node that is the value of a tensor among `u` and the values that `u` is a reshape of."""
    chain = [u]
    while chain[-1].op is Ops.RESHAPE:
        chain.append(chain[-1].src[0])
    if len(chain) == 1 or not u.has_buffer_identity():  # type: ignore[no-untyped-call]
        return u
    values = {t.uop for t in living_tensors()}
    return next((node for node in reversed(chain) if node in values), u)


_THROUGH = GroupOp.Movement | {Ops.BITCAST, Ops.DETACH, Ops.AFTER}
_COMPUTED = GroupOp.Elementwise | {Ops.REDUCE, Ops.STACK, Ops.PAD, Ops.GETTUPLE}

_IN_MEMORY = {Ops.BUFFER, Ops.PARAM, Ops.COPY, Ops.AFTER}


def _is_computed(u: UOp) -> bool:
    """Return whether a value has no memory until it is computed."""
    while u.op in _THROUGH and u.op is not Ops.PAD:
        u = u.src[0]
    return u.op in _COMPUTED and isinstance(u.device, str)


def _embed_writes(apply_map: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(apply_map)
    def embed(applied_map: dict[UOp, UOp], name: str) -> None:
        if name == _EMBED:
            applied_map = {(to := _written_node(u)): to.after(new.src[1]) for u, new in applied_map.items()}
        apply_map(applied_map, name)

    return embed


def install() -> None:
    cls: Any = Tensor
    assign, setitem = cls.assign, cls.__setitem__

    @functools.wraps(assign)
    def assign_below(self: Tensor, x: Any) -> Any:
        old = self.uop
        result = assign(self, x)
        new = self.uop
        if new.op is not Ops.AFTER or new.src[0] is not old:
            return result
        value = new.src[1].src[1]
        is_read_in_place = value.device is None or value.base.op in _IN_MEMORY
        if is_read_in_place and _is_computed(old):
            self.uop = value.clone(device=old.device)
        elif (node := _written_node(old)) is not old:
            self.uop = old
            private_api.tensor._apply_map_to_tensors({node: node.after(new)}, name=_EMBED)
        return result

    @functools.wraps(setitem)
    def setitem_once(self: Tensor, indices: Any, v: Any) -> None:
        if v is not self or self[indices] is not self:
            setitem(self, indices, v)

    cls.assign, cls.__setitem__ = assign_below, setitem_once
    private_api.tensor._apply_map_to_tensors = _embed_writes(private_api.tensor._apply_map_to_tensors)
