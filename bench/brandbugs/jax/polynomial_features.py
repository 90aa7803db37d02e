"""The powers of every example up to a degree."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def features(x: Float[Array, ""], degree: int) -> Float[Array, "degree"]:
    return x ** jnp.arange(1, degree + 1)


def main() -> None:
    expand = vmap(features, in_axes=(0, None))  # bug: expand = vmap(features, in_axes=0)
    got = expand(jnp.array([1.0, 2.0, -3.0]), 3)
    assert got.round().tolist() == [[1.0, 1.0, 1.0], [2.0, 4.0, 8.0], [-3.0, 9.0, -27.0]]


if __name__ == "__main__":
    main()
