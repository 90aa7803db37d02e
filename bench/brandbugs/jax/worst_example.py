"""The losses of a batch, and the largest of them."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def losses(predictions: Float[Array, "n d"], targets: Float[Array, "n d"]) -> tuple[Array, Array]:
    worst = jnp.array(0.0)

    def loss(p: Float[Array, "d"], t: Float[Array, "d"]) -> Float[Array, ""]:
        nonlocal worst
        e = jnp.square(p - t).mean()  # bug+: worst = jnp.maximum(worst, e)
        return e

    out = vmap(loss)(predictions, targets)
    worst = jnp.maximum(worst, out.max())  # bug: worst = worst * 1.0
    return out, worst


def main() -> None:
    out, worst = losses(jnp.array([[1.0, 1.0], [2.0, 4.0]]), jnp.array([[1.0, 1.0], [0.0, 0.0]]))
    assert out.tolist() == [0.0, 10.0] and worst.item() == 10.0


if __name__ == "__main__":
    main()
