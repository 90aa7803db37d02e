"""A batch of signals through one gain curve."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def amplify(signal: Float[Array, "t"], gain: Float[Array, "t"]) -> Float[Array, "t"]:
    return jnp.clip(signal * gain, -1.0, 1.0)


def main() -> None:
    amplifier = vmap(amplify, in_axes=(0, None))  # bug: amplifier = vmap(amplify, in_axes=(True, False))
    out = amplifier(jnp.array([[0.25, -4.0], [0.5, 0.125]]), jnp.array([2.0, 1.0]))
    assert out.tolist() == [[0.5, -1.0], [1.0, 0.125]]


if __name__ == "__main__":
    main()
