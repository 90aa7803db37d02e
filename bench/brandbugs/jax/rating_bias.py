"""Ratings with a bias of the user, which must not depend on the item."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def rating(user: Float[Array, "d"], item: Float[Array, "d"]) -> Float[Array, ""]:
    bias: Float[Array, ""] = user.mean()  # bug: bias: Float[Array, ""] = (user * item).mean()
    return bias + (user * item).sum()


def main() -> None:
    users, items = jnp.array([[1.0, 3.0], [0.0, 2.0]]), jnp.array([[1.0, 0.0], [0.0, 1.0]])
    table = vmap(lambda u: vmap(lambda i: rating(u, i))(items))(users)
    assert table.tolist() == [[3.0, 5.0], [1.0, 3.0]]


if __name__ == "__main__":
    main()
