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
from tests.fuzz.jax.both import Both, insert
from tests.fuzz.jax.form import DTYPES
from tests.golden import registry, with_branded
from tests.support import by_numpy

_TYPES = {short: getattr(dtypes, name) for short, name in DTYPES.items()}
COMPILE = os.environ.get("JAXFUZZ_COMPILE", "1") == "1"
"""If true, run kernels as users do; otherwise numpy evaluates the graph."""
unknown: list[str] = []
"""Errors of graphs that numpy could not evaluate."""
_both = Both(branded, dtypes.is_float)


def __getattr__(name: str) -> Any:
    return getattr(_both if hasattr(_both, name) else with_branded, name)


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


def jit_static(f: Callable[..., Any], by: float, at: int) -> Any:
    g = branded.jit(_both.scaled(f, at), static_argnums=at)

    def twice(*xs: Any) -> Any:
        g(*insert(xs, 3, at))
        return g(*insert(xs, by, at))

    return twice


# ---- random samples ----

key, split, fold_in = random.key, random.split, random.fold_in
bits, uniform, normal, randint = random.bits, random.uniform, random.normal, random.randint


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
