"""The focal loss of every prediction."""

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def focal(p: Float[Array, ""], target: Float[Array, ""]) -> Float[Array, ""]:
    right = target * p + (1.0 - target) * (1.0 - p)
    return -(jnp.square(1.0 - right) * jnp.log2(right))


def total(ps: Float[Array, "n"], targets: Float[Array, "n"]) -> Float[Array, ""]:
    return vmap(focal)(ps, targets).sum()  # bug: return vmap(focal)(ps).sum() + targets.sum() * 0.0


def main() -> None:
    got = total(jnp.array([0.5, 0.5, 1.0]), jnp.array([1.0, 0.0, 1.0]))
    assert np.allclose(np.asarray(got), 0.5, atol=1e-5)


if __name__ == "__main__":
    main()
