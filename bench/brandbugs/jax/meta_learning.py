"""One inner step per task, from a start that all tasks share."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def adapted_loss(
    task: Float[Array, "d"], start: Float[Array, "d"], candidates: Float[Array, "c d"]
) -> Float[Array, ""]:
    """The best loss that a candidate reaches on a task, and how far candidates are from the start."""

    def distance(w: Float[Array, "d"]) -> Float[Array, ""]:
        return jnp.square(w - start).sum()  # bug: return jnp.square(w - task).sum()

    losses = vmap(lambda w: jnp.square(w - task).sum())(candidates)
    return losses.min() + vmap(distance)(candidates).mean()


def main() -> None:
    tasks, candidates = jnp.array([[1.0, 0.0], [0.0, 4.0]]), jnp.array([[1.0, 0.0], [0.0, 3.0]])
    got = vmap(adapted_loss, in_axes=(0, None, None))(tasks, jnp.array([0.0, 0.0]), candidates)
    assert got.tolist() == [5.0, 6.0]


if __name__ == "__main__":
    main()
