"""Statements without inner functions: elementwise, reductions, movement, indexing, writes, collectives, samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz.jax.drawing import EXACT, LARGE, OPERATIONS, RANKS, Draw, Make, Scope, register
from tests.fuzz.jax.form import Type, Var

TOO_MANY = 60
"""The most elements of a value."""


def operation(weight: float) -> Callable[[Make], Make]:
    return register(OPERATIONS, weight)


def is_float(v: Var) -> bool:
    return v.type.is_float


def is_number(v: Var) -> bool:
    return v.type.dtype not in ("bool", "u32")


def has_axes(v: Var) -> bool:
    return len(v.type.shape) > 0


# ---- elementwise ----

UNARY: dict[str, tuple[float, Callable[[float], float]]] = {
    "-$0": (math.inf, lambda s: s),
    "m.sin($0)": (math.inf, lambda s: 1),
    "m.cos($0)": (math.inf, lambda s: 1),
    "m.tanh($0)": (30, lambda s: 1),  # tinygrad's derivative is NaN where exp(-2x) is infinite
    "m.exp($0)": (3.1, math.exp),
    "m.relu($0)": (math.inf, lambda s: s),
    "m.abs($0)": (math.inf, lambda s: s),
    "m.square($0)": (4.1, lambda s: s * s),
    "m.sqrt(m.abs($0) + 1)": (math.inf, lambda s: s + 1),
    "m.log(m.abs($0) + 1)": (math.inf, lambda s: s),
    "1 / (m.square($0) + 1)": (16, lambda s: 1),
    "$0 * 2": (100, lambda s: 2 * s),
    "$0 + 0.5": (100, lambda s: s + 1),
    "1.5 - $0": (100, lambda s: s + 2),
    "$0 / 2": (math.inf, lambda s: s),
    "m.stop_gradient($0)": (math.inf, lambda s: s),
    "m.clip($0, -1, 2)": (math.inf, lambda s: 2),
}
KEEP_BITS = {"-$0": 0, "m.relu($0)": 0, "m.abs($0)": 0, "$0 * 2": 0, "$0 + 0.5": 0, "1.5 - $0": 0, "$0 / 2": 1}


@operation(5)
def unary(d: Draw, s: Scope) -> Var | None:
    text, (most, grow) = d.rng.choice(list(UNARY.items()))
    v = d.pick(s, lambda v: is_float(v) and v.size <= most and grow(v.size) <= (20 if v.type.dtype == "f16" else 500))
    if v is None:
        return None
    bits = max(v.bits, 1) + KEEP_BITS[text] if text in KEEP_BITS and v.bits is not None else None
    return d.put(s, text, [v], v.type, bits, grow(v.size))


@operation(1)
def jumping(d: Draw, s: Scope) -> Var | None:
    """Apply floor or sign to an exact value."""
    v = d.pick(s, lambda v: is_float(v) and v.bits is not None)
    return v and d.put(s, d.rng.choice(["m.floor($0)", "m.sign($0)"]), [v], v.type, 0, v.size + 1)


@operation(1)
def of_ints(d: Draw, s: Scope) -> Var | None:
    v = d.pick(s, lambda v: v.type.dtype == "i32" and v.size < 1000)
    text, grow = d.rng.choice(
        [("-$0", 1), ("$0 + 1", 2), ("$0 % 3", 1), ("$0 // 2", 1), ("m.abs($0)", 1), ("$0 * 2", 2)]
    )
    return v and d.put(s, text, [v], v.type, 0, max(v.size * grow, 3))


@operation(1)
def of_bools(d: Draw, s: Scope) -> Var | None:
    v = d.pick(s, lambda v: v.type.dtype == "bool")
    return v and d.put(s, "m.logical_not($0)", [v], v.type)


def broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        shape = np.broadcast_shapes(a, b)
    except ValueError:
        return None
    return shape if np.prod(shape) <= TOO_MANY else None


@operation(6)
def binary(d: Draw, s: Scope) -> Var | None:
    """Apply an operation to two operands that broadcast, sometimes of two dtypes."""
    a = d.pick(s, is_number)
    if a is None:
        return None
    mixed = d.chance(0.12)
    b = d.pick(
        s,
        lambda v: (
            is_number(v)
            and (v.type.dtype == a.type.dtype or mixed)
            and broadcasts(a.type.shape, v.type.shape) is not None
        ),
    )
    if b is None:
        return None
    if d.chance(0.5):
        a, b = b, a
    dtype = max(a.type.dtype, b.type.dtype, key=RANKS.__getitem__)
    t = Type(broadcasts(a.type.shape, b.type.shape) or (), dtype)
    op = d.rng.choice(["+", "-", "*", "max", "min"])
    if dtype == "u8" and op == "-":
        op = "+"
    size = a.size * b.size if op == "*" else max(a.size, b.size) if op in ("max", "min") else a.size + b.size
    if size > LARGE[dtype] and dtype != "u8":
        return None
    bits = None
    if a.bits is not None and b.bits is not None:
        bits = a.bits + b.bits if op == "*" else max(a.bits, b.bits)
        if t.is_float and bits + math.log2(size + 1) > EXACT[dtype]:
            bits = None
    text = {"max": "m.maximum($0, $1)", "min": "m.minimum($0, $1)"}.get(op, f"$0 {op} $1")
    return d.put(s, text, [a, b], t, bits, size)


@operation(2)
def compared(d: Draw, s: Scope) -> Var | None:
    a = d.pick(s, lambda v: is_number(v) and v.bits is not None)
    if a is None:
        return None
    op = d.rng.choice(["<", ">", "<=", ">=", "==", "!="])
    b = d.pick(
        s,
        lambda v: (
            v.type.dtype == a.type.dtype and v.bits is not None and broadcasts(a.type.shape, v.type.shape) is not None
        ),
    )
    if b is None or b is a or d.chance(0.3):
        return d.put(s, f"$0 {op} 1", [a], Type(a.type.shape, "bool"))
    return d.put(s, f"$0 {op} $1", [a, b], Type(broadcasts(a.type.shape, b.type.shape) or (), "bool"))


@operation(1)
def of_two_bools(d: Draw, s: Scope) -> Var | None:
    a = d.pick(s, lambda v: v.type.dtype == "bool")
    if a is None:
        return None
    b = d.pick(s, lambda v: v.type.dtype == "bool" and broadcasts(a.type.shape, v.type.shape) is not None)
    if b is None:
        return None
    return d.put(s, f"$0 {d.rng.choice('&|^')} $1", [a, b], Type(broadcasts(a.type.shape, b.type.shape) or (), "bool"))


@operation(2)
def where(d: Draw, s: Scope) -> Var | None:
    c = d.pick(s, lambda v: v.type.dtype == "bool")
    a = d.pick(s, is_number)
    if c is None or a is None or (shape := broadcasts(c.type.shape, a.type.shape)) is None:
        return None
    b = d.pick(s, lambda v: v.type.dtype == a.type.dtype and broadcasts(shape, v.type.shape) is not None)
    if b is None:
        return None
    shape = broadcasts(shape, b.type.shape)
    bits = max(a.bits, b.bits) if a.bits is not None and b.bits is not None else None
    return d.put(s, "m.where($0, $1, $2)", [c, a, b], Type(shape or (), a.type.dtype), bits, max(a.size, b.size))


@operation(1)
def cast(d: Draw, s: Scope) -> Var | None:
    v = d.pick(s, lambda v: v.type.dtype != "u32")
    if v is None:
        return None
    to = d.rng.choice(
        [t for t in dict.fromkeys(d.dtypes) if t != v.type.dtype and not (t == "f16" and v.size > 20)] or ["f32"]
    )
    return d.cast(s, v, to)


# ---- reductions ----


def reduced(shape: tuple[int, ...], axis: Any, keep: bool) -> tuple[int, ...]:
    return np.zeros(shape).sum(axis, keepdims=keep).shape


@operation(3)
def reduction(d: Draw, s: Scope) -> Var | None:
    name = d.rng.choice(["sum", "sum", "mean", "max", "min"])
    v = d.pick(
        s,
        lambda v: (
            has_axes(v)
            and (
                v.type.is_float
                or (name == "sum" and v.type.dtype in ("i32", "bool"))
                or (name in ("max", "min") and is_number(v))
            )
            and (name == "sum" or 0 not in v.type.shape)
            and v.size * v.type.numel <= (20 if v.type.dtype == "f16" else 1000)
        ),
    )
    if v is None:
        return None
    axis = d.rng.choice([None, d.axis(len(v.type.shape)), tuple(range(len(v.type.shape)))])
    keep = d.chance(0.3)
    dtype = "i32" if v.type.dtype == "bool" else v.type.dtype
    size = v.size * max(1, v.type.numel) if name == "sum" else v.size
    bits = None if name == "mean" else v.bits
    t = Type(reduced(v.type.shape, axis, keep), dtype)
    return d.put(s, f"m.{name}($0, axis={axis}, keepdims={keep})", [v], t, bits, size)


@operation(1)
def of_bool_axes(d: Draw, s: Scope) -> Var | None:
    v = d.pick(s, lambda v: v.type.dtype == "bool" and has_axes(v) and 0 not in v.type.shape)
    return v and d.put(s, d.rng.choice(["m.any($0)", "m.all($0)"]), [v], Type((), "bool"))


@operation(1)
def argmax(d: Draw, s: Scope) -> Var | None:
    v = d.pick(s, lambda v: has_axes(v) and is_number(v) and v.bits is not None and 0 not in v.type.shape)
    if v is None:
        return None
    axis = d.axis(len(v.type.shape))
    return d.put(s, f"m.argmax($0, {axis})", [v], Type(reduced(v.type.shape, axis, False), "i32"), 0, 4)


@operation(2)
def along(d: Draw, s: Scope) -> Var | None:
    """Apply an operation that keeps the shape: cumulative sums, softmax, sort, products."""
    v = d.pick(s, lambda v: has_axes(v) and is_float(v) and 0 not in v.type.shape and v.size <= 20)
    if v is None:
        return None
    a, n = d.axis(len(v.type.shape)), max(v.type.shape)
    text, size, shape = d.rng.choice(
        [
            (f"m.cumsum($0, {a})", v.size * n, v.type.shape),
            (f"m.softmax($0, {a})", 1, v.type.shape),
            (f"m.sort($0, {a})", v.size, v.type.shape),
            (f"m.logsumexp($0, {a})", v.size + 2, reduced(v.type.shape, a, False)),
            (f"m.prod($0, {a})", v.size**n, reduced(v.type.shape, a, False)),
        ]
    )
    if size > (20 if v.type.dtype == "f16" else 100):
        return None
    return d.put(s, text, [v], Type(shape, v.type.dtype), None, size)


# ---- movement ----


def moved(d: Draw, s: Scope, text: str, v: Var, shape: tuple[int, ...]) -> Var:
    return d.put(s, text, [v], Type(shape, v.type.dtype), v.bits, v.size)


@operation(4)
def movement(d: Draw, s: Scope) -> Var | None:
    v = d.pick(s, lambda v: v.type.dtype != "u32")
    if v is None:
        return None
    shape, rank = v.type.shape, len(v.type.shape)
    kind = d.rng.choice(
        ["expand_dims", "broadcast", "flip", "roll", "transpose", "flat", "pad", "slice", "step", "swap"]
    )
    if kind == "expand_dims" and rank < 3:
        a = d.rng.randint(0, rank)
        return moved(d, s, f"m.expand_dims($0, {a})", v, (*shape[:a], 1, *shape[a:]))
    if kind == "broadcast" and rank < 3:
        n = d.size()
        return (
            moved(d, s, f"m.broadcast_to($0, {(n, *shape)})", v, (n, *shape)) if v.type.numel * n <= TOO_MANY else None
        )
    if not rank:
        return None
    a = d.axis(rank)
    if kind == "flip":
        return moved(d, s, f"m.flip($0, {a})", v, shape)
    if kind == "roll":
        return moved(d, s, f"m.roll($0, 1, {a})", v, shape)
    if kind in ("transpose", "swap"):
        order = tuple(d.rng.sample(range(rank), rank))
        return moved(d, s, f"m.transpose($0, {order})", v, tuple(shape[i] for i in order))
    if kind == "flat":
        return moved(d, s, "m.reshape($0, (-1,))" if v.type.numel else "m.reshape($0, (0,))", v, (v.type.numel,))
    if kind == "pad":
        before, after = d.rng.randint(0, 1), d.rng.randint(0, 2)
        if v.type.dtype == "bool":
            return None
        return moved(d, s, f"m.pad($0, {before}, {after})", v, (*shape[:-1], shape[-1] + before + after))
    if kind == "slice":
        lo = d.rng.randint(0, shape[0])
        hi = d.rng.randint(lo, shape[0])
        return moved(d, s, f"$0[{lo}:{hi}]", v, (hi - lo, *shape[1:]))
    return moved(d, s, "$0[..., ::2]", v, (*shape[:-1], (shape[-1] + 1) // 2)) if shape[-1] else None


@operation(2)
def entry(d: Draw, s: Scope) -> Var | None:
    v = d.pick(s, lambda v: has_axes(v) and v.type.shape[0] > 0 and (v.type.dtype != "u32" or len(v.type.shape) > 1))
    if v is None:
        return None
    return moved(d, s, f"$0[{d.axis(v.type.shape[0])}]", v, v.type.shape[1:])


@operation(2)
def take(d: Draw, s: Scope) -> Var | None:
    """Index with a tensor of valid indices."""
    v = d.pick(s, lambda v: has_axes(v) and v.type.shape[0] > 0 and v.type.dtype != "u32")
    i = d.pick(s, lambda v: v.type.dtype == "i32" and len(v.type.shape) < 2)
    if v is None or i is None or i.type.numel * v.type.numel > TOO_MANY:
        return None
    t = Type(i.type.shape + v.type.shape[1:], v.type.dtype)
    return d.put(s, f"$0[$1 % {v.type.shape[0]}]", [v, i], t, v.bits, v.size)


@operation(2)
def joined(d: Draw, s: Scope) -> Var | None:
    v = d.pick(s, lambda v: v.type.dtype != "u32" and v.type.numel <= 20)
    if v is None:
        return None
    w = d.pick(
        s,
        lambda w: (
            w.type.dtype == v.type.dtype
            and len(w.type.shape) == len(v.type.shape)
            and w.type.shape[1:] == v.type.shape[1:]
        ),
    )
    if w is None:
        return None
    bits = max(v.bits, w.bits) if v.bits is not None and w.bits is not None else None
    size, shape = max(v.size, w.size), v.type.shape
    if shape and d.chance(0.5):
        n = shape[0] + w.type.shape[0]
        return d.put(s, "m.concat([$0, $1])", [v, w], Type((n, *shape[1:]), v.type.dtype), bits, size)
    if w.type != v.type or len(shape) > 2:
        return None
    a = d.rng.randint(0, len(shape))
    return d.put(s, f"m.stack([$0, $1], {a})", [v, w], Type((*shape[:a], 2, *shape[a:]), v.type.dtype), bits, size)


@operation(2)
def matmul(d: Draw, s: Scope) -> Var | None:
    v = d.pick(s, lambda v: is_float(v) and has_axes(v) and v.size <= 5)
    if v is None:
        return None
    n = v.type.shape[-1]
    w = d.pick(
        s,
        lambda w: (
            w.type.dtype == v.type.dtype
            and w.size <= 5
            and 1 <= len(w.type.shape) <= 2
            and w.type.shape[-2:][0] == n
            and v.type.numel * w.type.numel <= 100
        ),
    )
    if w is None or (v.type.dtype == "f16" and v.size * w.size * n > 20):
        return None
    return d.put(
        s,
        "$0 @ $1",
        [v, w],
        Type(v.type.shape[:-1] + w.type.shape[1:], v.type.dtype),
        None,
        v.size * w.size * max(n, 1),
    )


@operation(1)
def made(d: Draw, s: Scope) -> Var | None:
    """Make a constant."""
    n = d.rng.randint(1, 4)
    kind = d.rng.choice(["arange", "full", "number"])
    if kind == "arange":
        return d.put(s, f"m.arange({n})", [], Type((n,), "i32"), 0, 4)
    return d.constant(s, Type(d.shape() if kind == "full" else (), d.rng.choice(d.dtypes)))


# ---- writes ----


@operation(2.5)
def write(d: Draw, s: Scope) -> Var | None:
    """Write into a copy, by an int, a slice, or a tensor; in tinygrad in place, in several ways."""
    v = d.pick(s, lambda v: has_axes(v) and v.type.shape[0] > 0 and v.type.dtype != "u32")
    if v is None:
        return None
    n, rest = v.type.shape[0], v.type.shape[1:]
    at = d.rng.choice(["int", "slice", "tensor"])
    how = d.rng.choice(["set", "add", "assign", "view_add"]) if v.type.is_float or v.type.dtype == "i32" else "set"
    operands = [v]
    if at == "int":
        index, shape = str(d.axis(n)), rest
    elif at == "slice":
        lo = d.rng.randint(0, n - 1)
        hi = d.rng.randint(lo + 1, n)
        index, shape = f"slice({lo}, {hi})", (hi - lo, *rest)
    else:
        i = d.pick(s, lambda i: i.type == Type((), "i32"))
        if i is None:
            return None
        operands.append(i)
        index, shape, how = f"$1 % {n}", rest, d.rng.choice(["set", "add"])
    value = d.pick(s, lambda w: w.type == Type(shape, v.type.dtype))
    if value is None:
        value = d.fitted(s, d.pick(s, lambda w: is_number(w) and w.type.numel <= 20) or v, Type(shape, v.type.dtype))
    size = v.size + value.size
    if size > 400 or (v.type.dtype == "f16" and size > 20):
        return None
    bits = max(v.bits, value.bits) if v.bits is not None and value.bits is not None else None
    operands.append(value)
    return d.put(s, f"m.put($0, {index}, ${len(operands) - 1}, {how!r})", operands, v.type, bits, size)


# ---- collectives ----


@operation(4)
def collective(d: Draw, s: Scope) -> Var | None:
    if not s.axes:
        return None
    axis = d.rng.choice(s.axes)
    kind = d.rng.choice(
        ["psum", "psum", "pmean", "pmax", "pmin", "all_gather", "ppermute", "all_to_all", "psum_scatter", "axis_index"]
    )
    name, n = repr(axis.name), axis.size
    if kind == "axis_index":
        return d.put(s, f"m.axis_index({name})", [], Type((), "i32"), 0, max(n, 1), add=axis.number)
    v = d.pick(
        s,
        lambda v: (
            is_number(v)
            and v.type.dtype != "u8"
            and v.type.numel <= 16
            and (v.type.is_float or kind != "pmean")
            # for an unbatched value, all_to_all of JAX 0.10 returns an axis too many
            and (axis.number in v.row or kind != "all_to_all")
        ),
    )
    if v is None:
        return None
    shape, rank = v.type.shape, len(v.type.shape)
    if kind in ("psum", "pmean", "pmax", "pmin"):
        if n == 0 and kind != "psum":
            return None
        size = v.size * max(1, n) if kind == "psum" else v.size
        if size > (20 if v.type.dtype == "f16" else 500):
            return None
        return d.put(
            s, f"m.{kind}($0, {name})", [v], v.type, None if kind == "pmean" else v.bits, size, drop=axis.number
        )
    if kind == "all_gather":
        if v.type.numel * n > TOO_MANY or rank > 2:
            return None
        if rank and d.chance(0.4):
            a = d.rng.randint(0, rank - 1)
            out = (*shape[:a], shape[a] * n, *shape[a + 1 :])
            return d.put(
                s,
                f"m.all_gather($0, {name}, axis={a}, tiled=True)",
                [v],
                Type(out, v.type.dtype),
                v.bits,
                v.size,
                drop=axis.number,
            )
        a = d.rng.randint(0, rank)
        t = Type((*shape[:a], n, *shape[a:]), v.type.dtype)
        return d.put(s, f"m.all_gather($0, {name}, axis={a})", [v], t, v.bits, v.size, drop=axis.number)
    if kind == "ppermute":
        k = d.rng.randint(0, n)
        perm = list(zip(d.rng.sample(range(n), k), d.rng.sample(range(n), k), strict=True))
        return d.put(s, f"m.ppermute($0, {name}, {perm})", [v], v.type, v.bits, v.size, add=axis.number)
    at = [i for i, k in enumerate(shape) if k == n and n > 0]
    if not at:
        if rank > 1:
            return None
        v = moved(d, s, f"m.broadcast_to($0, {(n, *shape)})", v, (n, *shape))
        shape, at = v.type.shape, [0]
    a = d.rng.choice(at)
    rest = [k for i, k in enumerate(shape) if i != a]
    if kind == "psum_scatter":
        if v.size * n > (20 if v.type.dtype == "f16" else 500):
            return None
        t = Type(tuple(rest), v.type.dtype)
        return d.put(
            s, f"m.psum_scatter($0, {name}, scatter_dimension={a})", [v], t, v.bits, v.size * n, add=axis.number
        )
    to = d.rng.randint(0, len(rest))
    rest.insert(to, n)
    return d.put(
        s, f"m.all_to_all($0, {name}, {a}, {to})", [v], Type(tuple(rest), v.type.dtype), v.bits, v.size, add=axis.number
    )


# ---- random samples by key ----


@operation(1.5)
def draws(d: Draw, s: Scope) -> Var | None:
    k = d.pick(s, lambda v: v.type == Type((2,), "u32"))
    if k is None:
        return None
    shape = d.shape()
    kind = d.rng.choice(["split", "fold_in", "uniform", "uniform", "normal", "randint", "bernoulli"])
    if kind == "split":
        n = d.rng.randint(1, 4)
        return d.put(s, f"m.split($0, {n})", [k], Type((n, 2), "u32"))
    if kind == "fold_in":
        i = d.pick(s, lambda v: v.type == Type((), "i32"))
        if i is None or d.chance(0.3):
            return d.put(s, f"m.fold_in($0, {d.rng.randint(0, 9)})", [k], k.type)
        return d.put(s, "m.fold_in($0, m.abs($1))", [k, i], k.type)
    if kind == "randint":
        return d.put(s, f"m.randint($0, {shape}, 0, 5)", [k], Type(shape, "i32"), 0, 5)
    if kind == "bernoulli":
        return d.put(s, f"m.bernoulli($0, {shape})", [k], Type(shape, "bool"))
    return d.put(s, f"m.{kind}($0, {shape})", [k], Type(shape, "f32"), None, 1 if kind == "uniform" else 4)
