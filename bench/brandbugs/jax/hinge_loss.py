"""The hinge loss of every example of a support vector machine."""

from functools import partial

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def hinge(w: Float[Array, "d"], x: Float[Array, "d"], y: Float[Array, ""]) -> Float[Array, ""]:
    margin = 1.0 - y * (w @ x)
    missed = margin > 0
    return jnp.where(missed, margin, 0.0)  # bug: return margin * 0.0 if not missed else margin


def main() -> None:
    losses = vmap(partial(hinge, jnp.array([1.0, 0.0])))(jnp.array([[2.0, 0.0], [0.5, 3.0]]), jnp.array([1.0, -1.0]))
    assert losses.tolist() == [0.0, 1.5]


if __name__ == "__main__":
    main()
