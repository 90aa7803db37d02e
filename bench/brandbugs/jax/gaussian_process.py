"""The mean of a Gaussian process at new points."""

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def cross(x: Float[Array, "d"], train: Float[Array, "n d"]) -> Float[Array, "n"]:
    return vmap(lambda t: jnp.exp(-jnp.square(x - t).sum()))(train)


def mean_at(x: Float[Array, "d"], train: Float[Array, "n d"], alpha: Float[Array, "n"]) -> Float[Array, ""]:
    return cross(x, train) @ alpha


def predict(new: Float[Array, "m d"], train: Float[Array, "n d"], alpha: Float[Array, "n"]) -> Float[Array, "m"]:
    at_new = vmap(mean_at, in_axes=(0, None, None))  # bug: at_new = vmap(mean_at, in_axes=(None, 0, None))
    return at_new(new, train, alpha)


def main() -> None:
    train, alpha = jnp.array([[0.0], [1.0]]), jnp.array([2.0, 4.0])
    got = predict(jnp.array([[0.0], [1.0], [9.0]]), train, alpha)
    assert np.allclose(np.asarray(got), [2 + 4 / np.e, 4 + 2 / np.e, 0.0], atol=1e-4)


if __name__ == "__main__":
    main()
