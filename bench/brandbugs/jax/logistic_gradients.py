"""The gradient of a logistic regression for every example."""

import jax.numpy as jnp
import numpy as np
from jax import Array, grad, vmap
from jaxtyping import Float


def loss(w: Float[Array, "d"], x: Float[Array, "d"], y: Float[Array, ""]) -> Float[Array, ""]:
    return jnp.log(1.0 + jnp.exp(-y * (w * x).sum()))


def gradient(w: Float[Array, "d"], x: Float[Array, "d"], y: Float[Array, ""]) -> Float[Array, "d"]:
    g: Float[Array, "d"] = grad(loss)(w, x, y)
    return g


per_example = vmap(gradient, in_axes=(None, 0, 0))  # bug: per_example = vmap(gradient)


def main() -> None:
    got = per_example(jnp.array([0.0, 0.0]), jnp.array([[1.0, 2.0], [4.0, 0.0]]), jnp.array([1.0, -1.0]))
    assert np.allclose(np.asarray(got), [[-0.5, -1.0], [2.0, 0.0]], atol=1e-5)


if __name__ == "__main__":
    main()
