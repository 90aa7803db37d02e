"""A bilinear form of pairs of vectors with a shared matrix."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def form(m: Float[Array, "d e"], x: Float[Array, "d"], y: Float[Array, "e"]) -> Float[Array, ""]:
    return x @ m @ y


pairs = vmap(form, in_axes=(None, 0, 0))  # bug: pairs = vmap(form, in_axes=(None, 0))


def main() -> None:
    m = jnp.array([[0.0, 1.0], [1.0, 0.0]])
    xs, ys = jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([[1.0, 0.0], [1.0, 1.0]])
    assert pairs(m, xs, ys).tolist() == [2.0, 7.0]


if __name__ == "__main__":
    main()
