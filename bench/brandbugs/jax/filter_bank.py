"""Every filter of a bank on one signal."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def response(signal: Float[Array, "t"], taps: Float[Array, "2"]) -> Float[Array, ""]:
    """The largest output of one filter with two taps."""
    return (signal[:-1] * taps[0] + signal[1:] * taps[1]).max()


def bank(signal: Float[Array, "t"], filters: Float[Array, "f 2"]) -> Float[Array, "f"]:
    mapped = vmap(response, in_axes=(None, 0))  # bug: mapped = vmap(response, in_axes=(0, None))
    return mapped(signal, filters)


def main() -> None:
    filters = jnp.array([[1.0, 0.0], [-1.0, 1.0], [1.0, 1.0]])
    assert bank(jnp.array([1.0, 2.0, 4.0]), filters).tolist() == [2.0, 2.0, 6.0]


if __name__ == "__main__":
    main()
