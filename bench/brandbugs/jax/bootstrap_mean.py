"""The means of resamples of a data set, and how much they spread."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float, Int


def resampled(data: Float[Array, "n"], indices: Int[Array, "n"]) -> Float[Array, ""]:
    mean = data[indices].mean()
    return mean - data.mean()  # bug: return data.mean() * 0.0 + float(mean.item())


def main() -> None:
    data, indices = jnp.array([1.0, 2.0, 6.0]), jnp.array([[0, 0, 0], [2, 2, 2], [0, 1, 2]])
    assert vmap(resampled, in_axes=(None, 0))(data, indices).tolist() == [-2.0, 3.0, 0.0]


if __name__ == "__main__":
    main()
