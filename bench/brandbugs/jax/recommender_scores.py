"""The score of every user for every item."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def score(user: Float[Array, "d"], item: Float[Array, "d"]) -> Float[Array, ""]:
    return jax.nn.sigmoid((user * item).sum())


def table(users: Float[Array, "u d"], items: Float[Array, "i d"]) -> Float[Array, "u i"]:
    def one_user(user: Float[Array, "d"]) -> Float[Array, "i"]:
        return vmap(lambda item: score(user, item))(items)

    return vmap(one_user)(users)  # bug: return vmap(score)(users, items)


def main() -> None:
    scores = table(jnp.array([[0.0, 0.0], [9.0, -9.0]]), jnp.array([[1.0, 0.0], [0.0, 1.0]]))
    assert np.allclose(np.asarray(scores), [[0.5, 0.5], [1.0, 0.0]], atol=1e-3)


if __name__ == "__main__":
    main()
