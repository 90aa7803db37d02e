"""Clips every row of a table at its own median plus or minus one."""

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def winsorize(row: Float[Array, "d"]) -> Float[Array, "d"]:
    median = jnp.sort(row)[row.shape[0] // 2]
    return jnp.clip(row, median - 1.0, median + 1.0)


def winsorize_one(row: Float[Array, "d"]) -> Float[Array, "d"]:
    median = float(np.median(np.asarray(row)))
    return jnp.clip(row, median - 1.0, median + 1.0)


def main() -> None:
    table = jnp.array([[0.0, 5.0, 9.0], [1.0, 1.0, 7.0]])
    got = vmap(winsorize)(table)  # bug: got = vmap(winsorize_one)(table)
    assert got.tolist() == [winsorize_one(table[0]).tolist(), winsorize_one(table[1]).tolist()]


if __name__ == "__main__":
    main()
