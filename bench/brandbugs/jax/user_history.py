"""The average of the purchases of every user, less the user's own offset."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def centred(ratings: Float[Array, "i"], offset: Float[Array, ""]) -> Float[Array, ""]:
    return ratings.mean() - offset


def main() -> None:
    ratings = jnp.array([[1.0, 3.0], [5.0, 5.0]])
    of_users, of_items = jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0])
    own = vmap(centred)(ratings, of_users)  # bug: own = vmap(centred)(ratings, of_items)
    table = vmap(lambda a: vmap(lambda b: a + b)(of_items))(of_users)
    assert own.tolist() == [1.0, 3.0] and table.tolist() == [[4.0, 5.0], [5.0, 6.0]]


if __name__ == "__main__":
    main()
