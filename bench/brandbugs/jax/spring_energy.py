"""The energy of springs that push and pull, and break when too long."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


class Spring(NamedTuple):
    """The two ends of a spring."""

    a: Float[Array, "*n d"]
    b: Float[Array, "*n d"]


def energy(spring: Spring) -> Float[Array, ""]:
    length = jnp.sqrt(jnp.square(spring.a - spring.b).sum())
    whole = jnp.square(length - 1.0)  # bug+: if length > 3.0: return whole * 0.0
    return jnp.where(length > 3.0, 0.0, whole)  # bug: return whole


def main() -> None:
    ends = jnp.array([[0.0, 2.0], [0.0, 9.0], [1.0, 0.0]])
    assert vmap(energy)(Spring(jnp.array([[0.0, 0.0]] * 3), ends)).tolist() == [1.0, 0.0, 0.0]


if __name__ == "__main__":
    main()
