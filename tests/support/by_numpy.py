"""Compute the values of tensors by numpy from their graphs, where compiling kernels would take twenty times as long.

This is an independent oracle: it uses nothing of tinygrad's scheduler, code generation or runtime.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, strong_dtype
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.callbacks.host import Host
from branded.control_flow.loop_primitive import Loop
from branded.control_flow.scan import Scan
from branded.core.boundary import lower
from branded.graph.primitive import primitive_of
from tests.support.examples import in_memory

Array = np.ndarray[Any, Any]


COMPILE_ALL = os.environ.get("BRANDED_COMPILE") == "1"
"""Whether kernels compute all values, including those that tests leave to numpy."""
is_compiled = COMPILE_ALL
"""Whether `read` and `reads` use kernels, as in a test that is marked `compiled`."""


class Unknown(Exception):
    """The graph contains an operation that only kernels can compute."""


_DTYPES = {
    dtypes.bool: np.bool_, dtypes.int8: np.int8, dtypes.int16: np.int16, dtypes.int32: np.int32,
    dtypes.int64: np.int64, dtypes.uint8: np.uint8, dtypes.uint16: np.uint16, dtypes.uint32: np.uint32,
    dtypes.uint64: np.uint64, dtypes.float16: np.float16, dtypes.float32: np.float32, dtypes.float64: np.float64,
    dtypes.weakint: np.int64, dtypes.weakfloat: np.float64, dtypes.bfloat16: np.float32,
}  # fmt: skip


def values(tensors: Sequence[Tensor], given: Mapping[UOp, Array] | None = None) -> list[Array]:
    """Return the values of tensors, each in the dtype of its `numpy()`.

    Args:
        tensors: The tensors.
        given: Other values for some inputs of their graphs, such as the values of another example.

    Raises:
        Unknown: Only kernels can compute a value.
    """
    with np.errstate(all="ignore"):
        found = evaluate(lower([t.uop for t in tensors]), given)
    return [x.astype(_numpy(strong_dtype(t.dtype))) for x, t in zip(found, tensors, strict=True)]


def read(x: Tensor) -> Array:
    """Return the value of a tensor, by kernels if numpy cannot compute it or the test is `compiled`."""
    return reads([x])[0]


def reads(xs: Sequence[Tensor]) -> list[Array]:
    """Return the values of several tensors; shared parts are computed once."""
    if not is_compiled:
        try:
            return values(xs)
        except Unknown:
            if len(xs) > 1:
                return [read(x) for x in xs]
    return [x.numpy() for x in xs]


def looped(f: Callable[..., Tensor], *batches: Array) -> list[Array]:
    """Return `[read(f(*xs)) for xs in zip(*batches)]`: `f` is called once, its graph is evaluated for each example."""
    xs = [in_memory(batch[0]) for batch in batches]
    y, memory = f(*xs), [x.uop.base for x in xs]
    order = _order([y.uop], set(memory))
    try:
        with np.errstate(all="ignore"):
            found = [
                _worked_out(order, {u: x.reshape(u.shape) for u, x in zip(memory, example, strict=True)})[y.uop]
                for example in zip(*batches, strict=True)
            ]
    except Unknown:
        return [read(f(*map(in_memory, example))) for example in zip(*batches, strict=True)]
    return [x.astype(_numpy(strong_dtype(y.dtype))) for x in found]


def evaluate(roots: Sequence[UOp], given: Mapping[UOp, Array] | None = None) -> list[Array]:
    """Return the values of graphs, given the values of some operations."""
    env = _worked_out(_order(roots, known := given or {}), known)
    return [env[r] for r in roots]


def _order(roots: Sequence[UOp], known: Container[UOp]) -> list[UOp]:
    """Return the operations to compute for graphs, each after its operands."""
    found = UOp(Ops.SINK, src=tuple(roots)).toposort(lambda u: u not in known, enter_calls=False)
    return [u for u in found if u not in known]


def _worked_out(order: Sequence[UOp], known: Mapping[UOp, Any]) -> dict[UOp, Any]:
    env = dict(known)
    for u in order:
        env[u] = _one(u, env)
    return env


def _one(u: UOp, env: dict[UOp, Any]) -> Any:
    if (rule := _RULES.get(u.op)) is not None and (u.src or u.op is not Ops.STACK):
        return _as(rule(u, *[env[s] for s in u.src]), u.dtype)
    if u.op in {Ops.SINK, Ops.STORE, Ops.STACK}:
        return None  # the AFTER that depends on a write performs it
    if u.op is Ops.TUPLE:
        return [env[s] for s in u.src]
    if u.op is Ops.FUNCTION:
        return _function(u, [env[s] for s in u.src[1:]])
    if u.op is Ops.AFTER:
        return _after(u, env)
    if u.op is Ops.BUFFER:
        return _buffer(u)
    if u.op is Ops.CONST:
        if u.is_invalid:
            raise Unknown("a value that is not there")
        large = u.dtype is dtypes.weakint and u.val > np.iinfo(np.int64).max
        return np.asarray(u.val, np.uint64 if large else _numpy(u.dtype))
    raise Unknown(u.op.name)


def _numpy(dtype: DType) -> Any:
    if dtype not in _DTYPES:
        raise Unknown(str(dtype))
    return _DTYPES[dtype]


def _as(x: Any, dtype: DType) -> Array:
    out = np.asarray(x).astype(_numpy(dtype), copy=False)
    return _bfloat16(out) if dtype is dtypes.bfloat16 else out


def _bfloat16(x: Array) -> Array:
    """Round to the upper half of a float32, ties to even."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(x), x, rounded).astype(np.float32).reshape(np.shape(x))


def _buffer(u: UOp) -> Array:
    if not isinstance(u.device, str) or u.is_variable:
        raise Unknown("several devices, or a variable")
    buffer: Any = u.buffer
    shape = tuple(int(s) for s in u.shape)
    if not buffer.is_allocated():
        return np.zeros(shape, _numpy(u.dtype))
    raw = buffer._buf.tobytes() if u.device == "NPY" else bytes(buffer.as_memoryview(allow_zero_copy=True))
    if u.dtype is dtypes.bfloat16:
        return (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)
    return np.frombuffer(raw, _numpy(u.dtype)).reshape(shape)


# ---- writes ----

_VIEWS = GroupOp.Movement - {Ops.PAD, Ops.EXPAND}


def _after(u: UOp, env: dict[UOp, Any]) -> Array:
    """Return a value after the writes into it, or into a view of it."""
    out = np.array(env[u.src[0]])
    for effect in u.src[1:]:
        if effect.op is Ops.AFTER and _memory(effect) is not _memory(u.src[0]):
            continue  # it runs earlier, and writes to other memory
        writes = [effect] if effect.op is Ops.STORE else list(effect.src[1:]) if effect.op is Ops.AFTER else None
        if writes is None or any(w.op is not Ops.STORE or len(w.src) != 2 for w in writes):
            raise Unknown("a hand-written kernel")
        for w in writes:
            at = _places(w.src[0], u.src[0], np.arange(out.size).reshape(out.shape))
            out.reshape(-1)[at] = np.broadcast_to(env[w.src[1]], at.shape).astype(out.dtype)
    return out


def _memory(u: UOp) -> UOp:
    """Return the memory of which a value is a view."""
    while u.op in _VIEWS | {Ops.AFTER, Ops.DETACH}:
        u = u.src[0]
    return u


def _places(view: UOp, base: UOp, at: Array) -> Array:
    """Return the elements of `base` that its `view` contains."""
    if view is base or (view.op is Ops.AFTER and view.src[0] is base):
        return at
    if view.op is Ops.AFTER or view.op is Ops.DETACH:
        return _places(view.src[0], base, at)
    if view.op not in _VIEWS:
        raise Unknown("a write through " + view.op.name)
    return np.asarray(_RULES[view.op](view, _places(view.src[0], base, at)))


# ---- functions ----


def _function(u: UOp, args: list[Array]) -> list[Array]:
    body = u.src[0]
    if isinstance(loop := primitive_of(u), Loop):
        return _loop(loop, args)
    if isinstance(made := primitive_of(u), Host):
        outs = [np.empty(y.shape, _numpy(y.dtype)) for y in body.src]
        made.work([np.ascontiguousarray(x) for x in args], outs)
        return outs
    own = {p: args[p.arg.slot] for p in body.toposort(enter_calls=False) if p.op is Ops.PARAM}
    return evaluate(body.src, own)


def _loop(loop: Loop, args: list[Array]) -> list[Array]:
    n, m, of = loop.carries, loop.inputs, {p.arg.slot: p for p in loop.params()}
    carries, inputs = list(args[:n]), args[n : n + m]
    if loop.gated and not args[-1]:
        stacked = loop.step.src[n:] if isinstance(loop, Scan) else ()
        return [*carries, *(np.zeros((loop.length, *y.shape), _numpy(y.dtype)) for y in stacked)]
    order, changing = _order(loop.step.src, set(of.values())), {p for i, p in of.items() if i < n + m}
    for u in order:
        if u.op is Ops.FUNCTION or not changing.isdisjoint(u.src):  # a host callback may have an effect in each step
            changing.add(u)

    def values_of(slots: Mapping[int, Array]) -> dict[UOp, Array]:
        return {p: _as(np.broadcast_to(slots[i], p.shape), p.dtype) for i, p in of.items() if i in slots}

    same = _worked_out([u for u in order if u not in changing], values_of(dict(enumerate(args[n + m :], n + m))))
    order = [u for u in order if u in changing]

    def step(k: int) -> list[Array]:
        env = _worked_out(order, same | values_of(dict(enumerate([*carries, *(x[k] for x in inputs)]))))
        return [env[y] for y in loop.step.src]

    if not isinstance(loop, Scan):
        while (new := step(0))[n]:
            carries[:] = new[:n]
        return carries
    outs: list[list[Array]] = [[] for _ in loop.step.src[n:]]
    for k in reversed(range(loop.length)) if loop.reverse else range(loop.length):
        carries[:], ys = (new := step(k))[:n], new[n:]
        for out, y in zip(outs, ys, strict=True):
            out.append(y)
    if not loop.length:
        return [*carries, *(np.zeros((0, *y.shape), _numpy(y.dtype)) for y in loop.step.src[n:])]
    return [*carries, *(np.stack(out[::-1] if loop.reverse else out) for out in outs)]


# ---- a rule for each operation ----


def _reduce(u: UOp, x: Array, *_: Any) -> Array:
    op, n = u.arg
    axes = tuple(range(n))
    if op is Ops.MAX:
        return np.max(x, axes, initial=u.dtype.min) if n else x
    return np.sum(x, axes, dtype=x.dtype) if op is Ops.ADD else np.prod(x, axes, dtype=x.dtype)


def _pad(u: UOp, x: Array, *_: Any) -> Array:
    return np.pad(x, [(o, size - o - s) for s, (o, size) in zip(x.shape, u.marg, strict=True)])


def _shrink(u: UOp, x: Array, *_: Any) -> Array:
    return x[tuple(slice(o, o + size) for o, size in u.marg)]


def _flip(u: UOp, x: Array) -> Array:
    return np.flip(x, [i for i, flipped in enumerate(u.arg) if flipped])


def _bitcast(u: UOp, x: Array) -> Array:
    if dtypes.bfloat16 in (u.dtype, u.src[0].dtype):
        raise Unknown("the bits of a bfloat16")
    return np.ascontiguousarray(x).view(_numpy(u.dtype)).reshape(u.shape)


def _cast(u: UOp, x: Array) -> Array:
    to_int = dtypes.is_float(u.src[0].dtype) and dtypes.is_int(u.dtype)
    if to_int and not np.all((x >= u.dtype.min) & (x <= u.dtype.max)):
        raise Unknown("a float that its int cannot hold")
    return x


def _divided(of: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    def rule(u: UOp, x: Array, y: Array) -> Array:
        if np.any(np.asarray(y) == 0):
            raise Unknown("a division by zero")
        return of(_as(x, u.dtype), _as(y, u.dtype))  # numpy divides int64 by uint64 in float64

    return rule


def _quotient(x: Array, y: Array) -> Array:
    """Round towards zero, as C does."""
    q = np.floor_divide(x, y)
    return q + ((np.remainder(x, y) != 0) & ((np.asarray(x) < 0) != (np.asarray(y) < 0)))


def _shifted(of: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    return lambda u, x, y: of(x, np.asarray(y).astype(np.asarray(x).dtype))


def _in_dtype(of: Callable[..., Any]) -> Callable[..., Any]:
    """Return a rule that casts the operands to the dtype of the result."""
    return lambda u, *xs: of(*(_as(x, u.dtype) for x in xs))


def _compared(of: Callable[[Array, Array], Any]) -> Callable[..., Any]:
    """Return a rule that compares operands in one dtype: a weak one takes the dtype of the other."""

    def rule(u: UOp, x: Array, y: Array) -> Any:
        a, b = (s.dtype for s in u.src)
        both = b if a in dtypes.weaks else a
        return of(_as(x, both), _as(y, both))

    return rule


def _threefry(u: UOp, x: Array, key: Array) -> Array:
    """Threefry-2x32 with 20 rounds: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011)."""
    x, key = np.broadcast_arrays(x.astype(np.uint64), key.astype(np.uint64))
    low = np.uint64(0xFFFFFFFF)
    halves = [(v & low).astype(np.uint32) for v in (x, x >> np.uint64(32), key, key >> np.uint64(32))]
    a, b, k0, k1 = halves
    ks = [k1, k0 ^ k1 ^ np.uint32(0x1BD11BDA), k0]
    a, b = a + ks[2], b + ks[0]
    for i in range(5):
        for r in ((13, 15, 26, 6), (17, 29, 16, 24))[i % 2]:
            a = a + b
            b = a ^ ((b << np.uint32(r)) | (b >> np.uint32(32 - r)))
        a, b = a + ks[i % 3], b + ks[(i + 1) % 3] + np.uint32(i + 1)
    return a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))


def _same(u: UOp, x: Array, *_: Any) -> Array:
    return x


def _power(x: Array, y: Array) -> Array:
    if x.dtype.kind in "iu" and np.any(y < 0):
        raise Unknown("a negative power of an int")
    return np.power(x, y)


_RULES: dict[Ops, Callable[..., Any]] = {
    **dict.fromkeys((Ops.CONTIGUOUS, Ops.CONTIGUOUS_BACKWARD, Ops.DETACH, Ops.COPY), _same),
    Ops.GETTUPLE: lambda u, xs: xs[u.arg],
    Ops.STACK: lambda u, *xs: np.stack([_as(x, u.dtype) for x in xs]),
    Ops.RESHAPE: lambda u, x, *_: np.reshape(x, u.shape),
    Ops.EXPAND: lambda u, x, *_: np.broadcast_to(x, u.shape),
    Ops.PERMUTE: lambda u, x: np.transpose(x, u.arg),
    Ops.PAD: _pad,
    Ops.SHRINK: _shrink,
    Ops.FLIP: _flip,
    Ops.REDUCE: _reduce,
    Ops.CAST: _cast,
    Ops.BITCAST: _bitcast,
    Ops.EXP2: _in_dtype(np.exp2),
    Ops.LOG2: _in_dtype(np.log2),
    Ops.SIN: _in_dtype(np.sin),
    Ops.SQRT: _in_dtype(np.sqrt),
    Ops.RECIPROCAL: _in_dtype(np.reciprocal),
    Ops.NEG: _in_dtype(np.negative),
    Ops.TRUNC: _in_dtype(np.trunc),
    Ops.ADD: _in_dtype(np.add),
    Ops.SUB: _in_dtype(np.subtract),
    Ops.MUL: _in_dtype(np.multiply),
    Ops.MAX: _in_dtype(np.maximum),
    Ops.FDIV: _in_dtype(np.divide),
    Ops.POW: _in_dtype(_power),
    Ops.AND: _in_dtype(np.bitwise_and),
    Ops.OR: _in_dtype(np.bitwise_or),
    Ops.XOR: _in_dtype(np.bitwise_xor),
    Ops.SHL: _shifted(np.left_shift),
    Ops.SHR: _shifted(np.right_shift),
    Ops.CDIV: _divided(_quotient),
    Ops.CMOD: _divided(np.fmod),
    Ops.FLOORDIV: _divided(np.floor_divide),
    Ops.FLOORMOD: _divided(np.remainder),
    Ops.CMPLT: _compared(np.less),
    Ops.CMPNE: _compared(np.not_equal),
    Ops.CMPEQ: _compared(np.equal),
    Ops.WHERE: lambda u, c, x, y: np.where(c, _as(x, u.dtype), _as(y, u.dtype)),
    Ops.MULACC: _in_dtype(lambda x, y, z: x * y + z),
    Ops.THREEFRY: _threefry,
}
