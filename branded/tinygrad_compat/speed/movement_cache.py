"""A cache for the operations that an index, a broadcast or a matrix product consists of, by the shapes of the operands.

tinygrad parses the index, computes five shapes and creates the sizes of each movement: 150 us for `x[3]`, and as much
for `x @ w`. The operations depend only on shapes, dtypes and the numbers in the index. Here they are recorded once, and
then built directly.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from tinygrad import Tensor, dtypes
from tinygrad.helpers import IMAGE
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.tinygrad_compat import gates, private_api
from branded.tinygrad_compat.uops import KNOWN, tensor

_VIEW = "_branded_view"
"""The attribute of a UOp that holds the shape of a view of a value in memory, such as `x[0]`."""
MOST = 1024
"""The maximum number of cached indices and shapes."""
_MOVEMENTS = {Ops.RESHAPE, Ops.EXPAND, Ops.PERMUTE, Ops.SHRINK, Ops.PAD, Ops.FLIP}
_Step = tuple[Ops, tuple[UOp, ...], Any, tuple[Any, ...]]
"""A movement: its operation, the operands with its sizes, its argument, and the shape of its result."""


def _steps(out: UOp, x: UOp) -> tuple[_Step, ...] | None:
    """Return the movements that turn `x` into `out`, or None if `out` is not made by movements alone."""
    steps: list[_Step] = []
    while out is not x:
        if out.op not in _MOVEMENTS or out.tag is not None:
            return None
        steps.append((out.op, out.src[1:], out.arg, out.shape))
        out = out.src[0]
    return tuple(reversed(steps))


def _cache_movements(original: Callable[..., Tensor], key_of: Callable[[Any], Hashable]) -> Callable[..., Tensor]:
    """Wrap a method with one argument; `key_of` returns a key of the argument, or None if the result is not cached."""
    known: dict[Hashable, tuple[_Step, ...] | None] = {}
    all_int = private_api.all_int

    @functools.wraps(original)
    def move(self: Tensor, arg: Any, *others: Any) -> Tensor:
        x = self.uop
        if others or (key := key_of(arg)) is None or not all_int(shape := x.shape):
            return original(self, arg, *others)
        if (steps := known.get((shape, key), ())) == ():
            out = original(self, arg)
            if out is not self:
                if len(known) >= MOST:
                    known.clear()
                known[shape, key] = _steps(out.uop, x)
            return out
        if steps is None:
            return original(self, arg)
        return tensor(_after_steps(x, steps, private_api.tensor._METADATA.get()))

    return move


def _after_steps(x: UOp, steps: tuple[_Step, ...], method: Any) -> UOp:
    """Return the value after these movements, as operations of `method`, if there is one."""
    for op, src, argument, shape in steps:
        x = UOp(op, x.dtype, (x, *src), argument)
        private_api.keep_shape(x, shape)
        if method is not None:
            private_api.all_metadata[x] = (method,)
    return x


METHODS = ("__getitem__", "transpose", "permute", "reshape", "view", "flatten", "squeeze", "unsqueeze", "flip")
"""The methods that return a view of a value in memory without the steps of tinygrad and of all hooks."""


def _view_memory(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method that moves elements: values in memory have no brand, no derivative and no shape to compute."""
    known: dict[Hashable, tuple[_Step, ...] | None] = {}
    name, runs_ours = private_api.Metadata(method.__name__), gates.runs_ours

    @functools.wraps(method)
    def move(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        x = self.uop
        shape = x.__dict__.get(_VIEW) or (value[0][0] if (value := x.__dict__.get(KNOWN)) is not None else None)
        if not shape or kwargs or runs_ours() or (key := _index(args)) is None:
            return method(self, *args, **kwargs)
        if steps := known.get((shape, key)):
            x = _after_steps(x, steps, private_api.tensor._METADATA.get() or name)
            x.__dict__[_VIEW] = steps[-1][3]
            return tensor(x)
        out = method(self, *args)
        if steps is None and (shape, key) not in known:
            if len(known) >= MOST:
                known.clear()
            known[shape, key] = _steps(out.uop, x) if type(out) is Tensor else None
        return out

    return move


def _wrap_views() -> None:
    for name in METHODS:
        setattr(Tensor, name, _view_memory(getattr(Tensor, name)))


def _index(index: Any) -> Hashable:
    """Return a key of an index of ints, slices of ints and tuples of them; None for any other index."""
    key: list[Any] = []
    for i in index if type(index) is tuple else (index,):
        if type(i) is slice:
            parts = i.start, i.stop, i.step
            if not all(x is None or type(x) is int for x in parts):
                return None
            key.append(parts)
        elif type(i) is int or i is None or i is ...:
            key.append(i)
        elif type(i) is tuple:
            if (inner := _index(i)) is None:
                return None
            key.append(inner)
        else:
            return None
    return tuple(key)


def _shape(shape: Any) -> Hashable:
    return shape if type(shape) is tuple and all(type(n) is int for n in shape) else None


class Operation(NamedTuple):
    """One operation of a recorded method; `operands` are positions of earlier values, or UOps that all calls share."""

    op: Ops
    dtype: Any
    arg: Any
    operands: tuple[int | UOp, ...]
    shape: tuple[Any, ...]


_RECORDED = _MOVEMENTS | GroupOp.ALU | {Ops.REDUCE, Ops.CAST, Ops.DETACH, Ops.STACK}
"""The operations that are recorded; they have no state."""


class Recording:
    """The operations of a method for operands of the same types: the last one returns the result."""

    def __init__(self, operations: tuple[Operation, ...]) -> None:
        self.operations = operations


_RECORDED_CALL = "_branded_recorded"


def recorded_call_of(u: UOp) -> tuple[Recording, tuple[UOp, ...]] | None:
    """Return the `Recording` whose result a value is, and the operands of that call, or None."""
    call: tuple[Recording, tuple[UOp, ...]] | None = u.__dict__.get(_RECORDED_CALL)
    return call


def recording_of(method: Callable[..., Tensor], *operands: Tensor) -> Recording | None:
    """Return the operations that `method` builds, found with other operands of the same types; None if it may vary."""
    if any(x.dtype in dtypes.weaks or 0 in x.shape for x in operands):
        return None
    inputs = [UOp.new_buffer("CPU", math.prod(x.shape), x.dtype).reshape(x.shape) for x in operands]
    index = {u: i for i, u in enumerate(inputs)}
    operations: list[Operation] = []
    out = method(*map(Tensor, inputs)).uop
    for u in out.toposort(lambda u: u not in index):
        if u in index or (u.op is not Ops.BUFFER and index.keys().isdisjoint(u.src)):  # such as a constant, or sizes
            continue
        if u.tag is not None or u.op not in _RECORDED:
            return None
        places = tuple([index.get(s, s) for s in u.src])
        operations.append(Operation(u.op, u.dtype, u.arg, places, u.shape))
        index[u] = len(index)
    return Recording(tuple(operations)) if operations and index.get(out) == len(index) - 1 else None


Recordings = dict[Hashable, Recording | None]
"""The operations of calls by a key of their operands and arguments; None for calls that cannot be recorded."""


def recorded_call(known: Recordings, key: Hashable, name: Any, call: Callable[..., Tensor], *operands: Tensor) -> Any:
    """Return `call(*operands)`. The first call with a key is recorded, and its operations are then built directly."""
    if recording := known.get(key):
        return _build(recording, [x.uop for x in operands], private_api.tensor._METADATA.get() or name)
    out = call(*operands)  # raises if the shapes do not fit
    if key not in known:
        if len(known) >= MOST:
            known.clear()
        is_simple = type(out) is Tensor and all(private_api.all_int(x.shape) for x in operands)
        known[key] = recording_of(call, *operands) if is_simple else None
    return out


def _build(recording: Recording, values: list[UOp], method: Any) -> Tensor:
    """Return the result of recorded operations on these operands."""
    operands = tuple(values)
    for op, dtype, arg, places, shape in recording.operations:
        u = UOp(op, dtype, tuple([values[i] if isinstance(i, int) else i for i in places]), arg)
        private_api.keep_shape(u, shape)
        private_api.all_metadata[u] = (method,)
        values.append(u)
    values[-1].__dict__[_RECORDED_CALL] = recording, operands
    return tensor(values[-1])


def _cache_products(original: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Wrap `dot`, which depends only on the shapes and dtypes of two tensors."""
    known: Recordings = {}
    name = private_api.Metadata("dot")

    @functools.wraps(original)
    def dot(self: Tensor, w: Any, dtype: Any = None) -> Any:
        if dtype is not None or type(w) is not Tensor or IMAGE.value:
            return original(self, w, dtype)
        x, y = self.uop, w.uop
        return recorded_call(known, (x.shape, x.dtype, y.shape, y.dtype), name, original, self, w)

    return dot


def install() -> None:
    for name, key_of in ((private_api.INDEXES, _index), (private_api.BROADCASTS, _shape)):
        setattr(Tensor, name, _cache_movements(getattr(Tensor, name), key_of))
    gates.replace_plain(Tensor, "dot", _cache_products(Tensor.dot))
    gates.outermost.append(_wrap_views)
