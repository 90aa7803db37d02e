"""Attention on vectors of length two: each query looks at all keys and mixes all values."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def attend(q: Float[Array, "d"], keys: Float[Array, "n d"], values: Float[Array, "n v"]) -> Float[Array, "v"]:
    weights = jax.nn.softmax(keys @ q / 2**0.5)
    return weights @ values


def attention(qs: Float[Array, "m d"], keys: Float[Array, "n d"], values: Float[Array, "n v"]) -> Float[Array, "m v"]:
    over_queries = vmap(attend, in_axes=(0, None, None))  # bug: over_queries = vmap(attend)
    return over_queries(qs, keys, values)


def main() -> None:
    keys, values = jnp.array([[1.0, 0.0], [1.0, 0.0], [0.0, 9.0]]), jnp.array([[2.0, 0.0], [4.0, 2.0], [5.0, 5.0]])
    out = attention(jnp.array([[90.0, 0.0], [0.0, 90.0], [0.0, 99.0]]), keys, values)
    assert np.allclose(np.asarray(out), [[3.0, 1.0], [5.0, 5.0], [5.0, 5.0]], atol=1e-4)


if __name__ == "__main__":
    main()
