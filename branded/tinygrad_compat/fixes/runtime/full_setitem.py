"""A fix for writes through a reshape of a tensor: they change the tensor.

A write to a part of a tensor changes each tensor whose graph contains the written node. tinygrad writes to the first
operand of the part that is a buffer or a reshape of a buffer. If the part begins with a reshape, the graphs of other
tensors do not contain that node.
After `x = Tensor([5.0]).realize()`, `x[0] = 7` does not change `x`, because `x[0]` is a reshape of `x`. Neither does
`x[::2] = 1` for a realized `x` of 6 elements: `x[::2]` is a part of `x.reshape(3, 2)`. The fix takes the lowest of
these nodes that is the value of a tensor.

If the view is `x` itself, Python's `x[:] += v` first adds in place and then assigns to `x[:]`. tinygrad adds again at
the assignment: after `y = x.clone(); y[:] += 1`, `y.sum().item()` is correct, but `y.numpy()` is `x + 2`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tinygrad import Tensor
from tinygrad.uop.ops import Ops, UOp

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
        if new.op is Ops.AFTER and new.src[0] is old and (node := _written_node(old)) is not old:
            self.uop = old
            private_api.tensor._apply_map_to_tensors({node: node.after(new)}, name=_EMBED)
        return result

    @functools.wraps(setitem)
    def setitem_once(self: Tensor, indices: Any, v: Any) -> None:
        if v is not self or self[indices] is not self:
            setitem(self, indices, v)

    cls.assign, cls.__setitem__ = assign_below, setitem_once
    private_api.tensor._apply_map_to_tensors = _embed_writes(private_api.tensor._apply_map_to_tensors)
