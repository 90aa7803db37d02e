"""The functions that programs call, for branded and tinygrad."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.helpers import disable_gc

import branded
from branded import random, tree
from branded.core.boundary import lower_unbatched
from tests.fuzz.jax.form import DTYPES
from tests.golden import registry, with_branded
from tests.support import by_numpy

_TYPES = {short: getattr(dtypes, name) for short, name in DTYPES.items()}
COMPILE = os.environ.get("JAXFUZZ_COMPILE", "1") == "1"
"""If true, run kernels as users do; otherwise numpy evaluates the graph."""
unknown: list[str] = []
"""Errors of graphs that numpy could not evaluate."""


def __getattr__(name: str) -> Any:
    return getattr(with_branded, name)


def array(x: np.ndarray) -> Tensor:
    return Tensor(np.array(x)).realize() if x.size else Tensor.zeros(*x.shape, dtype=_dtype(x))


def _dtype(x: np.ndarray) -> Any:
    return getattr(dtypes, x.dtype.name)


def full(shape: Any, dtype: str, value: Any) -> Tensor:
    return Tensor.full(shape, value, dtype=_TYPES[dtype])


def cast(x: Tensor, dtype: str) -> Tensor:
    return x.cast(_TYPES[dtype])


def sum(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    return x.sum(axis, keepdim=keepdims).cast(dtypes.int32 if x.dtype == dtypes.bool else x.dtype)


def mean(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    return x.mean(axis, keepdim=keepdims)


def max(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    return x.max(axis, keepdim=keepdims)


def min(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    return x.min(axis, keepdim=keepdims)


def prod(x: Tensor, axis: Any = None) -> Tensor:
    return x.prod(axis).cast(x.dtype)


def cumsum(x: Tensor, axis: int) -> Tensor:
    return x.cumsum(axis).cast(x.dtype)


def argmax(x: Tensor, axis: int) -> Tensor:
    return x.argmax(axis).cast(dtypes.int32)


def sort(x: Tensor, axis: int) -> Tensor:
    return x.sort(axis)[0].detach()


def logsumexp(x: Tensor, axis: int) -> Tensor:
    return x.logsumexp(axis)


def logical_not(x: Tensor) -> Tensor:
    return x.logical_not()


def expand_dims(x: Tensor, axis: int) -> Tensor:
    return x.unsqueeze(axis)


def broadcast_to(x: Tensor, shape: Any) -> Tensor:
    return x.expand(shape) if x.ndim else x.reshape((1,) * len(shape)).expand(shape)


def pad(x: Tensor, before: int, after: int) -> Tensor:
    return x.pad((before, after))


def put(x: Tensor, at: Any, value: Any, how: str) -> Tensor:
    """Write in place, in one of the ways of tinygrad: into an element, or into a view."""
    y = x.clone()
    with disable_gc():  # tinygrad's setitem visits all tensors, and fails if one of them is collected meanwhile
        if how == "add":
            y[at] += value
        elif how == "view_add":
            view = y[at]
            view += value
        elif how == "assign":
            y[at].assign(value)
        else:
            y[at] = value
    return y


# ---- transforms ----


def over(f: Callable[..., Any], name: str, size: int, in_axes: Any, out_axes: Any) -> Any:
    """Return `vmap(f)` written with `brand`."""

    def mapped(*xs: Any) -> Any:
        with branded.brand(name, size) as b:
            ys = f(*(x if a is None else b.vec(x, a) for x, a in zip(xs, in_axes, strict=True)))
            return tuple(b.unvec(y, a) for y, a in zip(ys, out_axes, strict=True))

    return mapped


def pulled(f: Callable[..., Any], like_value: bool, *args: Any) -> Any:
    y, pullback = branded.vjp(f, *args)
    cts = [v.sin() + 1 if like_value else v * 0 + 1 for v in tree.leaves(y)]
    return y, pullback(tree.rebuild(y, iter(cts)))


def through_expr(f: Callable[..., Any], level: str) -> Any:
    def written(*args: Any) -> Any:
        return branded.make_expr(f)(*args).at(level)(*args)

    return written


def with_jvp(f: Callable[..., Any], by: float, zeros: Any) -> Any:
    g = branded.custom_jvp(f)

    def rule(primals: Any, tangents: Any) -> Any:
        _, dy = branded.jvp(f, primals, tangents)
        return g(*primals), tuple(d * by if z else d * 0 for d, z in zip(dy, zeros, strict=True))

    g.defjvp(rule)
    return g


def with_jvp_by_hand(f: Callable[..., Any], rule: Callable[..., Any]) -> Any:
    g = branded.custom_jvp(f)
    g.defjvp(lambda primals, tangents: (g(*primals), rule(*primals, *tangents)))
    return g


def with_vjp(f: Callable[..., Any], by: float, none: Any) -> Any:
    g = branded.custom_vjp(f)

    def bwd(residuals: Any, ct: Any) -> Any:
        grads = branded.vjp(f, *residuals)[1](ct)
        return tuple(None if i in none else d * by for i, d in enumerate(grads))

    g.defvjp(lambda *xs: (f(*xs), xs), bwd)
    return g


def with_vmap(f: Callable[..., Any], by: float) -> Any:
    g = branded.custom_vmap(f)

    @g.def_vmap
    def rule(axis_size: int, in_batched: Any, *xs: Any) -> Any:
        ys = branded.vmap(f, [0 if b else None for b in in_batched], axis_size=axis_size)(*xs)
        return tuple(y * by for y in ys), (True,) * len(ys)

    return g


def write(x: Tensor, at: Any, value: Any, how: str) -> Tensor:
    """Write into an argument; the cast is explicit, since only JAX casts implicitly."""
    value = value.cast(x.dtype)
    with disable_gc():
        if how == "add":
            x[at] += value
        elif how == "view":
            view = x[at]
            view += value
        else:
            x[at] = value
    return x


class _Module:
    """A module that calls `f` with its weights, and assigns the first results to the first weights."""

    def __init__(self, f: Callable[..., Any], weights: list[Tensor], written: int) -> None:
        self.f, self.weights, self.written = f, weights, written

    def __call__(self, *xs: Tensor) -> Any:
        ys = self.f(*self.weights, *xs)
        for w, y in zip(self.weights, ys[: self.written], strict=False):
            w.assign(y + y.const_like(0) if y.dtype != dtypes.bool else y | False)
        return ys[self.written :]


def module_call(
    f: Callable[..., Any], shapes: Any, types: Sequence[str], written: int, weights: Sequence[Tensor], xs: Any
) -> Any:
    own = [Tensor.zeros(*shape, dtype=_TYPES[t]).clone() for shape, t in zip(shapes, types, strict=True)]
    module = _Module(f, own, written)
    state = {f"weights.{i}": w for i, w in enumerate(weights)}
    if not written:
        return branded.functional_call(module, state, *xs)
    names = [f"weights.{i}" for i in range(written)]
    ys, new = branded.functional_call(module, state, *xs, mutable=names)
    return (*(new[name] for name in names), *ys)


def _scaled(f: Callable[..., Any], at: int) -> Callable[..., Any]:
    """Return `f` with its results multiplied by a number, which is the argument at position `at`."""

    def scaled(*args: Any) -> Any:
        ys = f(*args[:at], *args[at + 1 :])
        return tuple(y * args[at] if dtypes.is_float(y.dtype) else y for y in ys)

    return scaled


def _at(xs: Any, by: float, at: int) -> Any:
    return (*xs[:at], by, *xs[at:])


def with_jvp_static(f: Callable[..., Any], by: float, at: int) -> Any:
    scaled = _scaled(f, at)
    g = branded.custom_jvp(scaled, nondiff_argnums=(at,))
    g.defjvp(lambda by, ps, ts: branded.jvp(lambda *xs: scaled(*_at(xs, by, at)), ps, ts))
    return lambda *xs: g(*_at(xs, by, at))


def with_vjp_static(f: Callable[..., Any], by: float, at: int) -> Any:
    scaled = _scaled(f, at)
    g = branded.custom_vjp(scaled, nondiff_argnums=(at,))

    def fwd(*args: Any) -> Any:
        return scaled(*args), (*args[:at], *args[at + 1 :])

    g.defvjp(fwd, lambda by, xs, ct: branded.vjp(lambda *xs: scaled(*_at(xs, by, at)), *xs)[1](ct))
    return lambda *xs: g(*_at(xs, by, at))


def jit_static(f: Callable[..., Any], by: float, at: int) -> Any:
    g = branded.jit(_scaled(f, at), static_argnums=at)

    def twice(*xs: Any) -> Any:
        g(*_at(xs, 3, at))
        return g(*_at(xs, by, at))

    return twice


# ---- random samples ----


def key(seed: int) -> Tensor:
    return random.key(seed)


def split(key: Tensor, n: int) -> Tensor:
    return random.split(key, n)


def fold_in(key: Tensor, i: Any) -> Tensor:
    return random.fold_in(key, i)


def bits(key: Tensor, shape: Any) -> Tensor:
    return random.bits(key, shape)


def uniform(key: Tensor, shape: Any) -> Tensor:
    return random.uniform(key, shape)


def normal(key: Tensor, shape: Any) -> Tensor:
    return random.normal(key, shape)


def randint(key: Tensor, shape: Any, low: Any, high: Any) -> Tensor:
    return random.randint(key, shape, low, high)


def bernoulli(key: Tensor, shape: Any) -> Tensor:
    return random.bernoulli(key, 0.5, shape)


# ---- execution ----


def run(program: Callable[..., Any], inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    return results(program(sys.modules[__name__], *map(array, inputs)))


def results(out: Any) -> list[np.ndarray]:
    leaves = [leaf if isinstance(leaf, Tensor) else Tensor(leaf) for _, leaf in registry.flat(out)]
    if not COMPILE:
        for leaf in leaves:
            leaf.uop = lower_unbatched(leaf.uop)
        try:
            return by_numpy.values(leaves)
        except by_numpy.Unknown as error:
            unknown.append(str(error))
    Tensor.realize(*leaves)
    return [leaf.numpy() for leaf in leaves]
