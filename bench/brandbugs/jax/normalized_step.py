"""One step of descent along the direction of the mean gradient."""

import jax.numpy as jnp
import numpy as np
from jax import Array, grad, vmap
from jaxtyping import Float


def loss(w: Float[Array, "d"], x: Float[Array, "d"]) -> Float[Array, ""]:
    return jnp.square(w @ x)


def gradient(w: Float[Array, "d"], x: Float[Array, "d"]) -> Float[Array, "d"]:
    g: Float[Array, "d"] = grad(loss)(w, x)
    return g


def step(w: Float[Array, "d"], g: Float[Array, "d"]) -> Float[Array, "d"]:
    return w - g / jnp.sqrt(jnp.square(g).sum())


def train(w: Float[Array, "d"], xs: Float[Array, "n d"]) -> Float[Array, "d"]:
    g = vmap(gradient, in_axes=(None, 0))(w, xs).mean(0)
    return step(w, g)  # bug: return vmap(lambda x: step(w, gradient(w, x)))(xs).mean(0)


def main() -> None:
    w = train(jnp.array([4.0, 3.0]), jnp.array([[1.0, 0.0], [0.0, 1.0]]))
    assert np.allclose(np.asarray(w), [3.2, 2.4], atol=1e-5)


if __name__ == "__main__":
    main()
