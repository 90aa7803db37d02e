"""A small network that keeps the activations of its layers."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def activations(weights: list[Float[Array, "i o"]], xs: Float[Array, "n i"]) -> list[Float[Array, "n o"]]:
    kept: list[Float[Array, "n o"]] = []

    def layer(w: Float[Array, "i o"], x: Float[Array, "i"]) -> Float[Array, "o"]:
        h = jax.nn.relu(x @ w)  # bug+: kept.append(h)
        return h

    for w in weights:
        xs = vmap(partial(layer, w))(xs)
        kept.append(xs)  # bug: continue
    return kept


def main() -> None:
    first, last = activations([jnp.array([[1.0, -1.0]]), jnp.array([[2.0], [1.0]])], jnp.array([[3.0], [-4.0]]))
    assert (first * 1.0).tolist() == [[3.0, 0.0], [0.0, 4.0]] and last.tolist() == [[6.0], [4.0]]


if __name__ == "__main__":
    main()
