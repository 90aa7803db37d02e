"""The value of the best action in every state."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def best_value(values: Float[Array, "a"], prices: Float[Array, "a"]) -> Float[Array, ""]:
    best = values.argmax()  # bug: best = int(values.argmax().item())
    return values.max() - prices[best]


def main() -> None:
    q = jnp.array([[1.0, 5.0, 0.0], [7.0, 2.0, 0.0]])
    assert vmap(best_value, in_axes=(0, None))(q, jnp.array([0.5, 1.0, 2.0])).tolist() == [4.0, 6.5]


if __name__ == "__main__":
    main()
