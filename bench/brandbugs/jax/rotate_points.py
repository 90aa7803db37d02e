"""Rotates every point of a cloud by one matrix."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def rotate(matrix: Float[Array, "2 2"], point: Float[Array, "2"]) -> Float[Array, "2"]:
    return matrix @ point


def main() -> None:
    quarter = jnp.array([[0.0, -1.0], [1.0, 0.0]])
    cloud = vmap(rotate, in_axes=(None, 0))  # bug: cloud = vmap(rotate)
    assert cloud(quarter, jnp.array([[1.0, 0.0], [0.0, 1.0]])).tolist() == [[0.0, 1.0], [-1.0, 0.0]]


if __name__ == "__main__":
    main()
