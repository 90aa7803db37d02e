"""The Gram matrix of a Gaussian kernel."""

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def rbf(x: Float[Array, "d"], y: Float[Array, "d"]) -> Float[Array, ""]:
    return jnp.exp(-jnp.square(x - y).sum() / 2)


def gram(xs: Float[Array, "n d"]) -> Float[Array, "n n"]:
    columns = vmap(rbf, in_axes=(None, 0))
    return vmap(columns, in_axes=(0, None))(xs, xs)  # bug: return vmap(columns)(xs, xs)


def main() -> None:
    got = np.asarray(gram(jnp.array([[0.0], [1.0], [2.0]])))
    want = [[np.exp(-((i - j) ** 2) / 2) for j in range(3)] for i in range(3)]
    assert np.allclose(got, want, atol=1e-4)


if __name__ == "__main__":
    main()
