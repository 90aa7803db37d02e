"""Standardizes every example by the mean and deviation of the whole data set."""

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def scale(x: Float[Array, "d"], mean: Float[Array, "d"], std: Float[Array, "d"]) -> Float[Array, "d"]:
    return (x - mean) / std


def standardize(xs: Float[Array, "n d"]) -> Float[Array, "n d"]:
    mean, std = xs.mean(0), xs.std(0, ddof=1)
    return vmap(lambda x: scale(x, mean, std))(xs)  # bug: return vmap(lambda x: scale(x, x.mean(0), std))(xs)


def main() -> None:
    out = standardize(jnp.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]))
    assert np.allclose(np.asarray(out), [[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]], atol=1e-4)


if __name__ == "__main__":
    main()
