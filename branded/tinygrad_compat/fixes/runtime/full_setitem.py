"""A fix for `x[i] = v` that covers all of `x`: it becomes a write to `x`.

`x[i] = v` writes to the view `x[i]`. If the view covers all of `x`, for example if `x` has one row, it is only a
reshape. tinygrad treats it as a separate tensor: after `x = Tensor([5.0]).realize()`, `x[0] = 7` does not change `x`.

If the view is `x` itself, `x[:] += v` has written when it assigns to `x[:]`. tinygrad then adds once more: after
`y = x.clone(); y[:] += 1`, `y.sum().item()` is right, but `y.numpy()` is `x + 2`.
"""

from __future__ import annotations

import contextvars
import functools
from typing import Any

from tinygrad import Tensor
from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat import private_api

_written: contextvars.ContextVar[Tensor | None] = contextvars.ContextVar("branded_written", default=None)


def base_of(u: UOp) -> UOp:
    """Return the value below reshapes."""
    while u.op is Ops.RESHAPE:
        u = u.src[0]
    return u


def install() -> None:
    cls: Any = Tensor
    assign, setitem = cls.assign, cls.__setitem__

    @functools.wraps(assign)
    def assign_whole(self: Tensor, x: Any) -> Any:
        target = _written.get()
        if target is None or target is self:
            return assign(self, x)
        storage = base_of(self.uop)
        if storage.op is not Ops.BUFFER or storage is not base_of(target.uop):
            return assign(self, x)
        value: Any = x if isinstance(x, Tensor) else Tensor(x, device=self.device, dtype=self.dtype)
        return assign(target, private_api.broadcast_to(value, self.shape).reshape(target.shape))

    @functools.wraps(setitem)
    def setitem_whole(self: Tensor, indices: Any, v: Any) -> None:
        if v is self and self[indices] is self:
            return
        token = _written.set(self)
        try:
            setitem(self, indices, v)
        finally:
            _written.reset(token)

    cls.assign, cls.__setitem__ = assign_whole, setitem_whole
