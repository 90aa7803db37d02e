"""The largest drop of each of several price series, one per column."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def largest_drop(prices: Float[Array, "t"]) -> Float[Array, ""]:
    return (prices[:-1] - prices[1:]).max()


def drops(table: Float[Array, "t n"]) -> Float[Array, "n"]:
    return vmap(largest_drop, in_axes=1)(table)  # bug: return vmap(largest_drop, in_axes=0)(table)


def main() -> None:
    assert drops(jnp.array([[5.0, 1.0], [3.0, 8.0], [9.0, 2.0]])).tolist() == [2.0, 6.0]


if __name__ == "__main__":
    main()
