"""The mean squared error of every model of an ensemble."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def error(w: Float[Array, "d"], xs: Float[Array, "n d"], ys: Float[Array, "n"]) -> Float[Array, ""]:
    """The accuracy of one model over all examples."""
    residuals = vmap(lambda x, y: w @ x - y)(xs, ys)
    return jnp.square(residuals).mean()


def errors(ws: Float[Array, "m d"], xs: Float[Array, "n d"], ys: Float[Array, "n"]) -> Float[Array, "m"]:
    return vmap(error, in_axes=(0, None, None))(ws, xs, ys)  # bug: return vmap(error, in_axes=(None, 0, 0))(ws, xs, ys)


def main() -> None:
    xs, ys = jnp.array([[1.0, 0.0], [0.0, 1.0]]), jnp.array([1.0, 1.0])
    assert errors(jnp.array([[1.0, 1.0], [3.0, 1.0], [1.0, 5.0]]), xs, ys).tolist() == [0.0, 2.0, 8.0]


if __name__ == "__main__":
    main()
