"""Evaluate the jaxpr of a program with numpy: JAX traces and transforms the program, without compiling by XLA.

Compiling takes ten times as long as the rest of a program.  JAX evaluates the primitives that are missing in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

Rule = Callable[..., Any]


def evaluate(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    env: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))

    def read(v: Any) -> Any:
        return np.asarray(v.val, v.aval.dtype) if isinstance(v, Literal) else env[v]

    for eqn in jaxpr.eqns:
        for v, x in zip(eqn.outvars, _equation(eqn, [read(v) for v in eqn.invars]), strict=True):
            env[v] = x
    return [read(v) for v in jaxpr.outvars]


def _closed(jaxpr: Any, args: Sequence[Any]) -> list[Any]:
    return evaluate(jaxpr.jaxpr, jaxpr.consts, args)


def _equation(eqn: Any, xs: list[Any]) -> Sequence[Any]:
    name, p = eqn.primitive.name, eqn.params
    if name in _CALLS:
        return _CALLS[name](p, xs)
    for key in ("jaxpr", "call_jaxpr", "call"):
        if isinstance(p.get(key), ClosedJaxpr):
            return _closed(p[key], xs)
    if name in _RULES and all(hasattr(x, "__array__") for x in xs):
        found = _RULES[name](p, *map(np.asarray, xs))
        if found is not None:
            found = found if isinstance(found, list) else [found]
            return [np.asarray(x).astype(v.aval.dtype, copy=False) for v, x in zip(eqn.outvars, found, strict=True)]
    out = eqn.primitive.bind(*xs, **eqn.primitive.get_bind_params(p))
    return out if eqn.primitive.multiple_results else [out]


# ---- control flow ----


def _scan(p: Any, xs: list[Any]) -> list[Any]:
    n, m = p["num_consts"], p["num_carry"]
    consts, carry, over = xs[:n], list(xs[n : n + m]), xs[n + m :]
    ys: list[list[Any]] = [[] for _ in p["jaxpr"].jaxpr.outvars[m:]]
    for i in reversed(range(p["length"])) if p["reverse"] else range(p["length"]):
        out = _closed(p["jaxpr"], [*consts, *carry, *(x[i] for x in over)])
        carry = out[:m]
        for y, v in zip(ys, out[m:], strict=True):
            y.append(v)
    avals = [v.aval for v in p["jaxpr"].jaxpr.outvars[m:]]
    stacked = [
        np.stack([np.asarray(v) for v in (y[::-1] if p["reverse"] else y)]) if y else np.zeros((0, *a.shape), a.dtype)
        for y, a in zip(ys, avals, strict=True)
    ]
    return [*carry, *stacked]


def _while(p: Any, xs: list[Any]) -> list[Any]:
    n, m = p["cond_nconsts"], p["body_nconsts"]
    carry = xs[n + m :]
    while _closed(p["cond_jaxpr"], [*xs[:n], *carry])[0]:
        carry = _closed(p["body_jaxpr"], [*xs[n : n + m], *carry])
    return carry


def _cond(p: Any, xs: list[Any]) -> list[Any]:
    branches = p["branches"]
    return _closed(branches[int(np.clip(int(xs[0]), 0, len(branches) - 1))], xs[1:])


_CALLS: dict[str, Rule] = {"scan": _scan, "while": _while, "cond": _cond}


# ---- operations ----


def _wide(x: Any) -> Any:
    """XLA adds float16 in float32."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _reduced(f: Callable[..., Any]) -> Rule:
    return lambda p, x: f(_wide(x), axis=tuple(p["axes"]))


def _dot_general(p: Any, x: Any, y: Any) -> Any:
    (cx, cy), (bx, by) = p["dimension_numbers"]
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    own_x, own_y = [next(letters) for _ in x.shape], [next(letters) for _ in y.shape]
    for i, j in [*zip(cx, cy, strict=True), *zip(bx, by, strict=True)]:
        own_y[j] = own_x[i]
    out = [own_x[i] for i in bx]
    out += [c for i, c in enumerate(own_x) if i not in (*bx, *cx)] + [
        c for i, c in enumerate(own_y) if i not in (*by, *cy)
    ]
    return np.einsum(f"{''.join(own_x)},{''.join(own_y)}->{''.join(out)}", _wide(x), _wide(y))


def _broadcast_in_dim(p: Any, x: Any, *sizes: Any) -> Any:
    if sizes:
        return None
    shape = [1] * len(p["shape"])
    for i, n in zip(p["broadcast_dimensions"], x.shape, strict=True):
        shape[i] = n
    return np.broadcast_to(x.reshape(shape), p["shape"])


def _pad(p: Any, x: Any, value: Any) -> Any:
    if any(lo < 0 or hi < 0 or inside for lo, hi, inside in p["padding_config"]):
        return None
    return np.pad(x, [(lo, hi) for lo, hi, _ in p["padding_config"]], constant_values=value)


def _iota(p: Any) -> Any:
    shape, d = p["shape"], p["dimension"]
    own = [1] * len(shape)
    own[d] = shape[d]
    return np.broadcast_to(np.arange(shape[d]).reshape(own), shape)


def _slice(p: Any, x: Any) -> Any:
    steps = p["strides"] or [1] * x.ndim
    return x[tuple(slice(a, b, c) for a, b, c in zip(p["start_indices"], p["limit_indices"], steps, strict=True))]


def _dynamic_slice(p: Any, x: Any, *starts: Any) -> Any:
    sizes = p["slice_sizes"]
    at = [int(np.clip(int(i), 0, n - size)) for i, n, size in zip(starts, x.shape, sizes, strict=True)]
    return x[tuple(slice(i, i + size) for i, size in zip(at, sizes, strict=True))]


def _select_n(p: Any, which: Any, *cases: Any) -> Any:
    which = which.astype(int)
    out = cases[0]
    for i, case in enumerate(cases[1:], 1):
        out = np.where(which == i, case, out)
    return out


def _div(p: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return x / y
    q = x // y if (y != 0).all() else None
    return None if q is None else q + ((x % y != 0) & ((x < 0) != (y < 0)))


def _sort(p: Any, *xs: Any) -> Any:
    if p["num_keys"] != 1:
        return None
    order = np.argsort(xs[0], p["dimension"], kind="stable")
    return [np.take_along_axis(x, order, p["dimension"]) for x in xs]


def _split(p: Any, x: Any) -> Any:
    return np.split(x, np.cumsum(p["sizes"])[:-1], p["axis"])


def _cumulative(f: Callable[..., Any]) -> Rule:
    def rule(p: Any, x: Any) -> Any:
        a = p["axis"]
        return np.flip(f(np.flip(_wide(x), a), a), a) if p["reverse"] else f(_wide(x), a)

    return rule


def _plain(f: Callable[..., Any]) -> Rule:
    return lambda p, *xs: f(*xs)


_PLAIN: dict[str, Callable[..., Any]] = {
    "add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "max": np.maximum,
    "min": np.minimum, "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "exp": np.exp, "log": np.log, "sqrt": np.sqrt,
    "abs": np.abs, "sign": np.sign, "floor": np.floor, "square": np.square, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert, "is_finite": np.isfinite, "log1p": np.log1p,
    "exp2": np.exp2, "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high), "copy": np.asarray,
    "rsqrt": lambda x: 1 / np.sqrt(x), "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "stop_gradient": np.asarray, "copy_p": np.asarray,
}  # fmt: skip
_RULES: dict[str, Rule] = {
    **{name: _plain(f) for name, f in _PLAIN.items()},
    "rem": lambda p, x, y: np.fmod(x, y) if (y != 0).all() else None,
    "div": _div,
    "integer_pow": lambda p, x: x ** p["y"] if p["y"] >= 0 else 1 / x ** -p["y"],
    "select_n": _select_n,
    "convert_element_type": lambda p, x: None if x.dtype.kind == "f" and not np.isfinite(x).all() else x,
    "broadcast_in_dim": _broadcast_in_dim,
    "reshape": lambda p, x, *sizes: None if sizes or p["dimensions"] else x.reshape(p["new_sizes"]),
    "transpose": lambda p, x: x.transpose(p["permutation"]),
    "squeeze": lambda p, x: x.squeeze(tuple(p["dimensions"])),
    "expand_dims": lambda p, x: np.expand_dims(x, tuple(p["dimensions"])),
    "slice": _slice,
    "dynamic_slice": _dynamic_slice,
    "concatenate": lambda p, *xs: np.concatenate(xs, p["dimension"]),
    "split": _split,
    "stack": lambda p, *xs: np.stack(xs, p["axis"]),
    "unstack": lambda p, x: list(np.moveaxis(x, p["axis"], 0)),
    "shift_right_logical": lambda p, x, y: np.right_shift(x, y) if x.dtype.kind == "u" and (y < 32).all() else None,
    "pad": _pad,
    "rev": lambda p, x: np.flip(x, tuple(p["dimensions"])),
    "iota": _iota,
    "reduce_sum": _reduced(np.sum),
    "reduce_max": _reduced(np.max),
    "reduce_min": _reduced(np.min),
    "reduce_prod": _reduced(np.prod),
    "reduce_and": _reduced(np.all),
    "reduce_or": _reduced(np.any),
    "argmax": lambda p, x: np.argmax(x, p["axes"][0]),
    "cumsum": _cumulative(np.cumsum),
    "cumprod": _cumulative(np.cumprod),
    "cummax": _cumulative(np.maximum.accumulate),
    "dot_general": _dot_general,
    "sort": _sort,
}
