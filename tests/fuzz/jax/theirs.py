"""The functions that programs call, for JAX."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.jax import jaxpr
from tests.fuzz.jax.both import Both, insert
from tests.fuzz.jax.form import DTYPES
from tests.golden import registry, with_jax

tree_map = jax.tree_util.tree_map
_both = Both(with_jax, lambda dtype: jnp.issubdtype(dtype, jnp.floating))


def __getattr__(name: str) -> Any:
    return getattr(_both if hasattr(_both, name) else with_jax, name)


def array(x: np.ndarray) -> Any:
    return jnp.asarray(x)


def full(shape: Any, dtype: str, value: Any) -> Any:
    return jnp.full(shape, value, DTYPES[dtype])


def arange(n: int) -> Any:
    return jnp.arange(n, dtype="int32")


def cast(x: Any, dtype: str) -> Any:
    return x.astype(DTYPES[dtype])


def relu(x: Any) -> Any:
    return jnp.where(x > 0, x, 0)


def abs(x: Any) -> Any:
    return x * jnp.sign(x)  # the derivative of jnp.abs at 0 is 1, and tinygrad's is 0


def clip(x: Any, low: float, high: float) -> Any:
    # the derivative of jnp.clip at its bounds is 1/2, and tinygrad's is 1
    return jnp.where(x < low, jnp.asarray(low, x.dtype), jnp.where(x > high, jnp.asarray(high, x.dtype), x))


def all_to_all(x: Any, name: str, split_axis: int, concat_axis: int, *, tiled: bool = False) -> Any:
    # for an unbatched value, JAX 0.10 returns an axis too many
    return lax.all_to_all(lax.select(lax.axis_index(name) >= 0, x, x), name, split_axis, concat_axis, tiled=tiled)


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return jnp.sum(x, axis, dtype="int32" if x.dtype == bool else x.dtype, keepdims=keepdims)


def prod(x: Any, axis: Any = None) -> Any:
    return jnp.prod(x, axis, dtype=x.dtype)


def cumsum(x: Any, axis: int) -> Any:
    return jnp.cumsum(x, axis, dtype=x.dtype)


def argmax(x: Any, axis: int) -> Any:
    return jnp.argmax(x, axis).astype("int32")


def sort(x: Any, axis: int) -> Any:
    return lax.stop_gradient(jnp.sort(x, axis))


def softmax(x: Any, axis: int) -> Any:
    return jax.nn.softmax(x, axis)


def logsumexp(x: Any, axis: int) -> Any:
    return jax.nn.logsumexp(x, axis)


def pad(x: Any, before: int, after: int) -> Any:
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(before, after)])


def put(x: Any, at: Any, value: Any, how: str) -> Any:
    return x.at[at].add(value) if how in {"add", "view_add"} else x.at[at].set(value)


def axis_index(name: Any) -> Any:
    return lax.axis_index(name).astype("int32")


def stop_gradient(x: Any) -> Any:
    return lax.stop_gradient(x)


# ---- transforms ----


def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, *, chunk_size: Any = None, **kwargs: Any) -> Any:
    return jax.vmap(f, in_axes, out_axes, **kwargs)


def over(f: Callable[..., Any], name: str, size: int, in_axes: Any, out_axes: Any) -> Any:
    return jax.vmap(f, tuple(in_axes), tuple(out_axes), axis_name=name, axis_size=size)


def pulled(f: Callable[..., Any], like_value: bool, *args: Any) -> Any:
    y, pullback = jax.vjp(f, *args)
    return y, pullback(tree_map(lambda v: jnp.sin(v) + 1 if like_value else v * 0 + 1, y))


def through_expr(f: Callable[..., Any], level: str) -> Any:
    return f


def jit(f: Callable[..., Any]) -> Any:
    return jax.jit(f)


def sequential_vmap(f: Callable[..., Any]) -> Any:
    return jax.custom_batching.sequential_vmap(f)


def write(x: Any, at: Any, value: Any, how: str) -> Any:
    return x.at[at].set(value) if how == "set" else x.at[at].add(value)


def module_call(f: Callable[..., Any], shapes: Any, types: Any, written: int, weights: Any, xs: Any) -> Any:
    return f(*weights, *xs)


def jit_static(f: Callable[..., Any], by: float, at: int) -> Any:
    g = jax.jit(_both.scaled(f, at), static_argnums=at)
    return lambda *xs: g(*insert(xs, by, at))


# ---- random samples ----


def key(seed: int) -> Any:
    return jax.random.PRNGKey(seed)


def split(key: Any, n: int) -> Any:
    return jax.random.split(key, n)


def fold_in(key: Any, i: Any) -> Any:
    return jax.random.fold_in(key, i)


def bits(key: Any, shape: Any) -> Any:
    return jax.random.bits(key, shape, "uint32")


def uniform(key: Any, shape: Any) -> Any:
    return jax.random.uniform(key, shape, "float32")


def normal(key: Any, shape: Any) -> Any:
    return jax.random.normal(key, shape, "float32")


def randint(key: Any, shape: Any, low: Any, high: Any) -> Any:
    return jax.random.randint(key, shape, low, high, "int32")


def bernoulli(key: Any, shape: Any) -> Any:
    return jax.random.bernoulli(key, jnp.float32(0.5), shape)


# ---- execution ----

COMPILE = True
"""If true, XLA compiles and runs each operation; otherwise JAX traces the program, and numpy evaluates the jaxpr."""


def run(program: Callable[..., Any], inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    def flat(*xs: Any) -> Any:
        return [leaf for _, leaf in registry.flat(program(sys.modules[__name__], *xs))]

    xs = [*map(array, inputs)]
    if COMPILE:
        return [np.asarray(leaf) for leaf in flat(*xs)]
    traced = jax.make_jaxpr(flat)(*xs)
    with np.errstate(all="ignore"):
        return [np.asarray(leaf) for leaf in jaxpr.evaluate(traced.jaxpr, traced.consts, list(inputs))]
