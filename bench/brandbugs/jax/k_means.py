"""Assigns every point to the nearest of some centres."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float, Int


def nearest(point: Float[Array, "d"], centres: Float[Array, "k d"]) -> Int[Array, ""]:
    return jnp.square(centres - point).sum(-1).argmin()


def assign(points: Float[Array, "n d"], centres: Float[Array, "k d"]) -> Int[Array, "n"]:
    return vmap(nearest, (0, None))(points, centres)  # bug: return vmap(nearest, (0, 0))(points, centres)


def main() -> None:
    centres = jnp.array([[0.0, 0.0], [8.0, 8.0], [0.0, 9.0]])
    assert assign(jnp.array([[1.0, 1.0], [1.0, 7.0], [7.0, 9.0]]), centres).tolist() == [0, 2, 1]


if __name__ == "__main__":
    main()
