"""Methods of many operations, such as `std` and `softmax`, which are recorded once and then built directly.

tinygrad calls dozens of its own methods for each of them, which takes longer than the kernels of small results. The
operations depend only on the shape and dtype of the tensor and on the arguments. In the body of a vmap, a derivative
or a program, and for tensors with named axes, the methods are called as before.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from tinygrad import Tensor
from tinygrad.helpers import DEFAULT_FLOAT, DEFAULT_INT

from branded.core.tracing.state import is_deferred
from branded.graph.known_axes import axes_by_id
from branded.graph.rows import keep_info
from branded.tinygrad_compat import private_api, result_marks
from branded.tinygrad_compat.speed.movement_cache import Recordings, recorded_call, recorded_call_of
from branded.tinygrad_compat.tensor_methods import Method, wrap

METHODS = ("mean", "var", "std", "softmax", "log_softmax", "argmax", "argmin", "any", "all", "sum", "max", "min")
_ARGUMENTS = (int, bool, type(None))


def _key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Hashable:
    """Return a key of arguments that are ints, bools, None or tuples of ints; None for any others."""
    values = (*args, *kwargs.values())
    for x in values:
        if type(x) not in _ARGUMENTS and not (type(x) is tuple and all(type(n) is int for n in x)):
            return None
    return (len(args), *kwargs, *map(type, values), *values)


def _record(original: Method) -> Method:
    known: Recordings = {}
    name = private_api.Metadata(original.__name__)

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if axes_by_id or is_deferred() or (key := _key(args, kwargs)) is None:
            return original(self, *args, **kwargs)
        key = _type(self), key, DEFAULT_FLOAT.value, DEFAULT_INT.value
        return _call(known, key, name, lambda t: original(t, *args, **kwargs), self)

    return method


def _type(x: Tensor) -> tuple[Any, ...]:
    return x.uop.shape, x.uop.dtype


def _call(known: Recordings, key: Hashable, name: Any, call: Method, *operands: Tensor) -> Any:
    """Return `call(*operands)`, of which the facts about the graph are known without visiting its operations."""
    out = recorded_call(known, key, name, call, *operands)
    if recorded_call_of(out.uop) is not None:
        us = [x.uop for x in operands]
        keep_info(out.uop, us)
        if any(map(result_marks.is_ours, us)):
            result_marks.mark(out.uop)
    return out


def _record_joining(original: Method) -> Method:
    """Wrap a method whose operands are several tensors."""
    known: Recordings = {}
    name = private_api.Metadata(original.__name__)

    def method(self: Tensor, *args: Any, dim: Any = 0) -> Any:
        if type(dim) is not int or axes_by_id or is_deferred() or not all(type(x) is Tensor for x in (self, *args)):
            return original(self, *args, dim=dim)
        key = dim, *map(_type, (self, *args)), DEFAULT_FLOAT.value, DEFAULT_INT.value
        return _call(known, key, name, lambda *xs: original(*xs, dim=dim), self, *args)

    return method


def install() -> None:
    for name in METHODS:
        wrap(name, _record)
    for name in ("cat", "stack"):
        wrap(name, _record_joining)
