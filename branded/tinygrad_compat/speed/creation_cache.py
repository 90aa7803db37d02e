"""A cache for the graphs of `arange` and `full`, of which tinygrad builds dozens of operations each time.

Each tensor index and each random sample needs `arange`, a cumulative sum of ones, which has no memory and depends only
on its numbers. `full`, and with it `zeros` and `ones`, makes a new buffer each time, and the operations that fill it.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.device import Buffer
from tinygrad.dtype import DType
from tinygrad.helpers import DEFAULT_FLOAT, DEFAULT_INT
from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat import gates, private_api
from branded.tinygrad_compat.uops import base_of, tensor


def install() -> None:
    _install_arange()
    _install_full()
    _install_arrays()


def _install_arange() -> None:
    mixin: Any = next(cls for cls in UOp.__mro__ if "arange" in vars(cls))
    original = vars(mixin)["arange"].__func__

    @functools.lru_cache(maxsize=256, typed=True)
    def made(start: float, stop: float | None, step: float, dtype: DType | None, usual: tuple[DType, DType]) -> UOp:
        out: UOp = original(UOp, start, stop, step, dtype)
        return out

    @functools.wraps(original)
    def arange(cls: Any, start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
        plain = all(type(x) in (int, float) for x in (start, 0 if stop is None else stop, step))
        if not plain or cls not in (Tensor, UOp) or not (dtype is None or isinstance(dtype, DType)):
            return original(cls, start, stop, step, dtype)
        out = made(start, stop, step, dtype, (dtypes.default_int, dtypes.default_float))
        return out if cls is UOp else Tensor(out)

    mixin.arange = classmethod(arange)


def _install_full() -> None:
    mixin: Any = next(cls for cls in UOp.__mro__ if "full" in vars(cls))
    original = vars(mixin)["full"].__func__

    @functools.lru_cache(maxsize=256, typed=True)
    def made(shape: tuple[int, ...], value: float, dtype: Any, device: str, sign: float, *usual: str) -> UOp | None:
        """Return the graph of a filled tensor with a buffer of its own, or None if it has another form."""
        u: UOp = original(Tensor, shape, value, dtype, device).uop
        is_filled = u.op is Ops.AFTER and [s.op for s in u.src[1:]] == [Ops.STORE] and u.src[1].src[0] is u.src[0]
        return u if is_filled and base_of(u.src[0]).op is Ops.BUFFER else None

    @functools.wraps(original)
    def full(cls: Any, shape: Any, fill_value: Any, dtype: Any = None, device: Any = None, buffer: Any = True) -> Any:
        kind = type(fill_value)
        if (
            (cls is Tensor and buffer is True)
            and (type(shape) is tuple and all(type(n) is int for n in shape))
            and (kind is float or kind is int or kind is bool)
            and (dtype is None or type(dtype) is DType)
            and type(name := private_api.canonicalize_device(device)) is str
        ):
            sign = math.copysign(1.0, fill_value) if kind is float else 0.0
            u = made(shape, fill_value, dtype, name, sign, DEFAULT_FLOAT.value, DEFAULT_INT.value)
            if u is not None:
                return tensor(_with_new_buffer(u))
        return original(cls, shape, fill_value, dtype, device, buffer)

    mixin.full = classmethod(full)


def _install_arrays() -> None:
    kind_of = functools.lru_cache(maxsize=32)(private_api._from_np_dtype)

    def from_numpy(x: Any) -> UOp:
        shape, dtype = x.shape, kind_of(x.dtype)
        u: UOp = UOp.new_buffer("NPY", x.size, dtype)
        memory = private_api.buffers[u] = Buffer("NPY", x.size, dtype, uop_refcount=1)
        memory.allocate(x)
        if len(shape) == 1:
            return u
        out = UOp(Ops.RESHAPE, dtype, (u, private_api.ops.shape_to_shape_arg(shape)))
        private_api.keep_shape(out, shape)
        return out

    gates.replace_plain(private_api.tensor, "_fromnp", from_numpy)


def _with_new_buffer(u: UOp) -> UOp:
    """Return a filled tensor with another buffer."""
    into = _view_of_new_buffer(u.src[0])
    write = u.src[1]
    return UOp(Ops.AFTER, u.dtype, (into, UOp(Ops.STORE, write.dtype, (into, *write.src[1:]), write.arg)), u.arg)


def _view_of_new_buffer(u: UOp) -> UOp:
    if u.op is Ops.BUFFER:
        out: UOp = UOp.new_buffer(u.device, int(u.shape[0]), u.dtype)
        return out
    out = UOp(u.op, u.dtype, (_view_of_new_buffer(u.src[0]), *u.src[1:]), u.arg)
    private_api.keep_shape(out, u.shape)
    return out
