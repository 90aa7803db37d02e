"""The loss of every learning rate with every decay, after one step on a parabola."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def after_a_step(rate: Float[Array, ""], decay: Float[Array, ""]) -> Float[Array, ""]:
    w = 1.0 - rate * 2.0
    return jnp.square(w * (1.0 - decay))


def search(rates: Float[Array, "r"], decays: Float[Array, "d"]) -> Float[Array, "r d"]:
    inner = vmap(after_a_step, in_axes=(None, 0))  # bug: inner = vmap(after_a_step, in_axes=(0, None))
    return vmap(inner, in_axes=(0, None))(rates, decays)  # bug: return vmap(inner, in_axes=(None, 0))(rates, decays)


def main() -> None:
    assert search(jnp.array([0.0, 1.0]), jnp.array([0.0, 0.5, 1.0])).tolist() == [[1.0, 0.25, 0.0]] * 2


if __name__ == "__main__":
    main()
