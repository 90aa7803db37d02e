"""Smooths many series, with one factor that is bound by `partial`."""

from functools import partial

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def smooth(alpha: Float[Array, ""], series: Float[Array, "4"]) -> Float[Array, ""]:
    level = series[0]
    for t in range(1, 4):
        level = alpha * series[t] + (1.0 - alpha) * level
    return level


def main() -> None:
    alpha, table = jnp.array(0.5), jnp.array([[8.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    last = vmap(partial(smooth, alpha))
    assert last(table).tolist() == [1.0, 1.0]  # bug: assert last(alpha, table).tolist() == [1.0, 1.0]


if __name__ == "__main__":
    main()
