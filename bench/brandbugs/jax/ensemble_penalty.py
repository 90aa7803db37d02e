"""The losses of an ensemble on a data set, with a penalty for each model."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def loss(w: Float[Array, "d"], x: Float[Array, "d"]) -> Float[Array, ""]:
    penalty: Array = jnp.square(w).sum() / 2  # bug: penalty: Array = jnp.square(w * x).sum() / 2
    return jnp.square(w @ x - 1.0) + penalty


def main() -> None:
    models, data = jnp.array([[1.0, 1.0], [2.0, 0.0]]), jnp.array([[1.0, 0.0], [0.0, 3.0], [1.0, 1.0]])
    losses = vmap(lambda w: vmap(lambda x: loss(w, x))(data))(models)
    assert losses.tolist() == [[1.0, 5.0, 2.0], [3.0, 3.0, 3.0]]


if __name__ == "__main__":
    main()
