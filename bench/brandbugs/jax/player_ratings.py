"""The chance of every home team to beat every guest, by the ratings of both."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def chance(home: Float[Array, ""], guest: Float[Array, ""]) -> Float[Array, ""]:
    return jax.nn.sigmoid(home + 0.5 - guest)


def table(home: Float[Array, "h"], guests: Float[Array, "g"]) -> Float[Array, "h g"]:
    def row(h: Float[Array, ""]) -> Float[Array, "g"]:
        return vmap(lambda g: chance(h, g))(guests)  # bug: return vmap(lambda g: chance(g, h))(guests)

    return vmap(row)(home)


def main() -> None:
    got = table(jnp.array([0.0, 9.5]), jnp.array([0.5, 10.0]))
    assert np.allclose(np.asarray(got), [[0.5, 0.0], [1.0, 0.5]], atol=1e-3)


if __name__ == "__main__":
    main()
