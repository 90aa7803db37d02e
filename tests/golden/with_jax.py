"""The functions that the programs call, for JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import jax.scipy.special
import numpy as np
from jax import custom_batching, lax

from tests.golden import registry


class _Linalg:
    """The functions of two JAX modules, which are one module in branded."""

    def __getattr__(self, name: str) -> Any:
        return getattr(jnp.linalg if hasattr(jnp.linalg, name) else jax.scipy.linalg, name)


linalg = _Linalg()
PLACES = (jax, jnp, lax, jax.nn, custom_batching, jax.scipy.special, jax.ops)


def __getattr__(name: str) -> Any:
    for place in PLACES:
        if hasattr(place, name):
            return getattr(place, name)
    raise AttributeError(name)


def array(x: Any) -> Any:
    return jnp.asarray(registry.array(x))


def nested(x: Any) -> Any:
    return jnp.array(x)


def _complex(x: Any) -> Any:
    return lax.complex(*x) if isinstance(x, tuple) else x


def _transform(name: str) -> Any:
    """Return a Fourier transform that takes and returns complex values as pairs."""

    def f(x: Any, *args: Any, **given: Any) -> Any:
        y = getattr(jnp.fft, name)(_complex(x), *args, **given)
        return (y.real, y.imag) if jnp.iscomplexobj(y) else y

    return f


fft, ifft, rfft, irfft = (_transform(name) for name in ("fft", "ifft", "rfft", "irfft"))


def some(*shape: int) -> Any:
    return jnp.asarray(registry.some(*shape))


def to_float(x: Any) -> Any:
    return x.astype(jnp.float32)


def to_int(x: Any) -> Any:
    return x.astype(jnp.int32)


def norm(x: Any, axis: int | None = None) -> Any:
    return jnp.sqrt((x * x).sum(axis))


def put(x: Any, at: Any, value: Any) -> Any:
    return x.at[at].set(value)


def _at(method: str) -> Any:
    return lambda x, at, y: getattr(x.at[at], method)(y)


index_update, index_add, index_mul = (_at(method) for method in ("set", "add", "multiply"))
index_min, index_max = (_at(method) for method in ("min", "max"))


def conv(x: Any, w: Any, stride: int = 1, padding: int = 0) -> Any:
    return lax.conv(x, w, (stride, stride), [(padding, padding)] * 2)


def max_pool(x: Any, size: int) -> Any:
    return lax.reduce_window(x, -np.inf, lax.max, (1, 1, size, size), (1, 1, size, size), "VALID")


def results(x: Any) -> dict[str, np.ndarray]:
    return {path: np.asarray(leaf) for path, leaf in registry.flat(x)}
