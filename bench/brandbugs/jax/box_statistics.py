"""The least, the mean and the greatest value of every row."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def box(x: Float[Array, "d"]) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
    return x.min(), x.mean(), x.max()


boxes = vmap(box, out_axes=(0, 0, 0))  # bug: boxes = vmap(box, out_axes=(0, 0))


def main() -> None:
    low, mean, high = boxes(jnp.array([[1.0, 2.0, 6.0], [4.0, 4.0, 4.0]]))
    assert (low.tolist(), mean.tolist(), high.tolist()) == ([1.0, 4.0], [3.0, 4.0], [6.0, 4.0])


if __name__ == "__main__":
    main()
