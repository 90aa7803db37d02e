"""The gradient of every example, and its norm."""

import jax.numpy as jnp
from jax import Array, grad, vmap
from jaxtyping import Float


def loss(w: Float[Array, "d"], x: Float[Array, "d"]) -> Float[Array, ""]:
    return jnp.square(w @ x)


def norm(w: Float[Array, "d"], x: Float[Array, "d"]) -> Float[Array, ""]:
    return jnp.sqrt(jnp.square(grad(loss)(w, x)).sum())


def norms(w: Float[Array, "d"], xs: Float[Array, "n d"]) -> Float[Array, "n"]:
    mapped = vmap(norm, in_axes=(None, 0))  # bug: mapped = vmap(norm, in_axes=(None, 0), out_axes=None)
    return mapped(w, xs)


def main() -> None:
    assert norms(jnp.array([1.0, 1.0]), jnp.array([[3.0, 4.0], [0.0, 2.0]])).tolist() == [70.0, 8.0]


if __name__ == "__main__":
    main()
