"""The readings of sensors, corrected by an offset of each sensor."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def corrected(readings: Float[Array, "n t"], offsets: Float[Array, "n"]) -> Float[Array, "n t"]:
    kept: list[Array] = []

    def one(reading: Float[Array, "t"], offset: Float[Array, ""]) -> Float[Array, "t"]:
        kept.append(reading - offset)
        return reading - offset

    out = vmap(one)(readings, offsets)
    return out  # bug: return kept[0]


def main() -> None:
    out = corrected(jnp.array([[3.0, 4.0], [1.0, 1.0]]), jnp.array([1.0, 0.5]))
    assert out.tolist() == [[2.0, 3.0], [0.5, 0.5]]


if __name__ == "__main__":
    main()
