"""The similarity of every query to every document."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def similarity(q: Float[Array, "d"], d: Float[Array, "d"]) -> Float[Array, ""]:
    return (q * d).sum()


def search(queries: Float[Array, "q d"], documents: Float[Array, "n d"]) -> Float[Array, "q n"]:
    """Row by row: of one query, all documents."""
    inner = vmap(similarity, in_axes=(None, 0))  # bug: inner = vmap(similarity, in_axes=(0, None))
    outer = vmap(inner, in_axes=(0, None))  # bug: outer = vmap(inner, in_axes=(None, 0))
    return outer(queries, documents)


def main() -> None:
    documents = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    assert search(jnp.array([[1.0, 0.0], [1.0, -1.0]]), documents).tolist() == [[1.0, 3.0], [-1.0, -1.0]]


if __name__ == "__main__":
    main()
