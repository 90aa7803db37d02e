"""Every token passes through all experts, weighted by its own gate."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def mix(token: Float[Array, "d"], experts: Float[Array, "e d d"], gates: Float[Array, "e"]) -> Float[Array, "d"]:
    outputs: Float[Array, "e d"] = vmap(lambda e: e @ token)(experts)
    return jax.nn.softmax(gates) @ outputs


def layer(tokens: Float[Array, "n d"], experts: Float[Array, "e d d"], gates: Float[Array, "n e"]) -> Array:
    mapped = vmap(mix, in_axes=(0, None, 0))  # bug: mapped = vmap(mix, in_axes=(None, 0, 0))
    return mapped(tokens, experts, gates)


def main() -> None:
    experts = jnp.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    out = layer(jnp.array([[1.0, 3.0], [5.0, 7.0]]), experts, jnp.array([[90.0, 0.0], [0.0, 0.0]]))
    assert np.allclose(np.asarray(out), [[1.0, 3.0], [6.0, 6.0]], atol=1e-4)


if __name__ == "__main__":
    main()
