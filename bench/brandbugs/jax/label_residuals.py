"""The residual of every example of a linear regression."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def residuals(w: Float[Array, "d"], xs: Float[Array, "n d"], ys: Float[Array, "n"]) -> Float[Array, "n"]:
    def residual(x: Float[Array, "d"], y: Float[Array, ""]) -> Float[Array, ""]:
        return w @ x - y  # bug: return w @ x - ys

    return vmap(residual)(xs, ys)


def main() -> None:
    w, xs = jnp.array([1.0, 2.0]), jnp.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert residuals(w, xs, jnp.array([1.0, 1.0, 1.0])).tolist() == [0.0, 1.0, 2.0]


if __name__ == "__main__":
    main()
