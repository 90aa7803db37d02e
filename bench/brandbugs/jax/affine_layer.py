"""An affine layer, whose weights are a pair, on a batch."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def affine(params: tuple[Float[Array, "o i"], Float[Array, "o"]], x: Float[Array, "i"]) -> Float[Array, "o"]:
    w, b = params
    return w @ x + b


def main() -> None:
    params = jnp.array([[1.0, 1.0], [0.0, 2.0]]), jnp.array([0.0, 1.0])
    layer = vmap(affine, in_axes=((None, None), 0))  # bug: layer = vmap(affine, in_axes=((None,), 0))
    assert layer(params, jnp.array([[1.0, 2.0], [0.0, 1.0]])).tolist() == [[3.0, 5.0], [1.0, 3.0]]


if __name__ == "__main__":
    main()
