"""Few-shot logits: minus the distance of a query to the mean of each class."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def prototype(support: Float[Array, "k d"], query: Float[Array, "d"]) -> Float[Array, "d"]:
    """The mean of the shots of one class, in the dtype of the query."""
    return support.mean(0).astype(query.dtype)  # bug: return (support - query).mean(0).astype(query.dtype)


def logit(support: Float[Array, "k d"], query: Float[Array, "d"]) -> Float[Array, ""]:
    return -jnp.square(prototype(support, query) - query).sum()


def logits(supports: Float[Array, "c k d"], queries: Float[Array, "n d"]) -> Float[Array, "n c"]:
    one_query = vmap(logit, in_axes=(0, None))
    return vmap(one_query, in_axes=(None, 0))(supports, queries)


def main() -> None:
    supports = jnp.array([[[0.0, 0.0], [2.0, 0.0]], [[5.0, 1.0], [5.0, -1.0]]])
    assert logits(supports, jnp.array([[1.0, 0.0], [5.0, 1.0]])).tolist() == [[0.0, -16.0], [-17.0, -1.0]]


if __name__ == "__main__":
    main()
