"""The final amount of a loan, for every rate and every term."""

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def growth(rate: Float[Array, ""], years: Float[Array, ""]) -> Float[Array, ""]:
    return jnp.power(1.0 + rate, years)


def table(rates: Float[Array, "r"], terms: Float[Array, "t"]) -> Float[Array, "r t"]:
    def row(rate: Float[Array, ""]) -> Float[Array, "t"]:
        return vmap(lambda years: growth(rate, years))(terms)

    return vmap(row)(rates)  # bug: return vmap(growth)(rates, terms)


def main() -> None:
    got = table(jnp.array([0.0, 1.0]), jnp.array([1.0, 3.0]))
    assert np.allclose(np.asarray(got), [[1.0, 1.0], [2.0, 8.0]], atol=1e-3)


if __name__ == "__main__":
    main()
