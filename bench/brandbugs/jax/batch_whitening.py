"""Whitens a data set by the statistics of all examples."""

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def whiten(data: Float[Array, "n d"]) -> Float[Array, "n d"]:
    """Whiten a whole data set; its first axis is the examples."""
    return (data - data.mean(0)) / (data.std(0, ddof=1) + 1e-6)


def affine(x: Float[Array, "d"]) -> Float[Array, "d"]:
    return x * 2.0 + 1.0


def prepare(xs: Float[Array, "n d"]) -> Float[Array, "n d"]:
    return vmap(affine)(whiten(xs))  # bug: return vmap(affine)(vmap(whiten)(xs))


def main() -> None:
    out = prepare(jnp.array([[1.0, 0.0], [2.0, 4.0], [3.0, 8.0]]))
    assert np.allclose(np.asarray(out), [[-1.0, -1.0], [1.0, 1.0], [3.0, 3.0]], atol=1e-3)


if __name__ == "__main__":
    main()
