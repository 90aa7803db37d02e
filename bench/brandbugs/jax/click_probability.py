"""The probability that a user clicks on an item, for all pairs."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def probability(user: Float[Array, "3"], item: Float[Array, "3"]) -> Float[Array, ""]:
    taste, thrift = user[:2], user[2]
    return jax.nn.sigmoid((taste * item[:2]).sum() - jnp.square(thrift) * item[2])


def main() -> None:
    people, goods = jnp.array([[4.0, 0.0, 2.0], [0.0, 2.0, 0.0]]), jnp.array([[1.0, 0.0, 1.0], [0.0, 0.0, 50.0]])

    def row(u: Float[Array, "3"]) -> Float[Array, "i"]:
        return vmap(lambda i: probability(u, i))(goods)  # bug: return vmap(lambda i: probability(i, u))(goods)

    table = vmap(row)(people)
    assert np.allclose(np.asarray(table), [[0.5, 0.0], [0.5, 0.5]], atol=1e-4)


if __name__ == "__main__":
    main()
