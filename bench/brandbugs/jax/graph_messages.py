"""One round of messages on a graph: each node sums the states of its neighbours."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def gather(neighbours: Float[Array, "n"], states: Float[Array, "n d"]) -> Float[Array, "d"]:
    return neighbours @ states


def round_of_messages(adjacency: Float[Array, "n n"], states: Float[Array, "n d"]) -> Float[Array, "n d"]:
    return vmap(lambda row: gather(row, states))(adjacency)  # bug: return vmap(lambda row: gather(row, row))(adjacency)


def main() -> None:
    path = jnp.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    states = jnp.array([[1.0, 0.0], [0.0, 5.0], [3.0, 0.0]])
    assert round_of_messages(path, states).tolist() == [[0.0, 5.0], [4.0, 0.0], [0.0, 5.0]]


if __name__ == "__main__":
    main()
