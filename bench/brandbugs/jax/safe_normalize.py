"""Normalizes every vector, except zero vectors."""

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def unit(x: Float[Array, "d"]) -> Float[Array, "d"]:
    norm = jnp.sqrt(jnp.square(x).sum())
    return jnp.where(norm > 0, x / jnp.maximum(norm, 1e-12), x)  # bug: return x / norm if norm > 0 else x


def main() -> None:
    out = vmap(unit)(jnp.array([[3.0, 4.0], [0.0, 0.0]]))
    assert np.allclose(np.asarray(out), [[0.6, 0.8], [0.0, 0.0]], atol=1e-5)


if __name__ == "__main__":
    main()
