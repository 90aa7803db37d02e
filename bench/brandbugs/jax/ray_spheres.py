"""The distance along every ray to a sphere."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def distances(origins: Float[Array, "n d"], directions: Float[Array, "n d"], radius: Float[Array, ""]) -> Array:
    """To a sphere around the origin, for rays that hit it."""

    def hit(o: Float[Array, "d"], d: Float[Array, "d"]) -> Float[Array, ""]:
        return -(o @ d) - jnp.sqrt(jnp.square(o @ d) - o @ o + jnp.square(radius))

    return vmap(hit)(origins, directions)  # bug: return vmap(hit)(origins, directions, radius)


def main() -> None:
    got = distances(jnp.array([[-5.0, 0.0], [0.0, 3.0]]), jnp.array([[1.0, 0.0], [0.0, -1.0]]), jnp.array(2.0))
    assert got.tolist() == [3.0, 1.0]


if __name__ == "__main__":
    main()
