"""Distances from every point of one set to every point of another."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def distance(x: Float[Array, "d"], y: Float[Array, "d"]) -> Float[Array, ""]:
    return jnp.sqrt(jnp.square(x - y).sum())


def distances_from(x: Float[Array, "d"], ys: Float[Array, "m d"]) -> Float[Array, "m"]:
    return vmap(lambda y: distance(x, y))(ys)


def pairwise(xs: Float[Array, "n d"], ys: Float[Array, "m d"]) -> Float[Array, "n m"]:
    return vmap(distances_from, in_axes=(0, None))(xs, ys)  # bug: return vmap(distances_from)(xs, ys)


def main() -> None:
    points = jnp.array([[0.0, 0.0], [3.0, 4.0]])
    assert pairwise(points, points).tolist() == [[0.0, 5.0], [5.0, 0.0]]


if __name__ == "__main__":
    main()
