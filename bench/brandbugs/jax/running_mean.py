"""A module that normalizes a batch and keeps running statistics."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


class Normalizer:
    """Takes the mean of each example away."""

    def __init__(self) -> None:
        self.last: Float[Array, "n"] = jnp.array([0.0])

    def one(self, x: Float[Array, "d"]) -> Float[Array, "d"]:
        mean = x.mean()  # bug+: self.last = mean
        return x - mean

    def __call__(self, xs: Float[Array, "n d"]) -> Float[Array, "n d"]:
        self.last = xs.mean(1)  # bug: self.last = self.last * 0.0
        return vmap(self.one)(xs)


def main() -> None:
    norm = Normalizer()
    assert norm(jnp.array([[1.0, 3.0], [5.0, 5.0]])).tolist() == [[-1.0, 1.0], [0.0, 0.0]]
    assert (norm.last * 2.0).tolist() == [4.0, 10.0]


if __name__ == "__main__":
    main()
